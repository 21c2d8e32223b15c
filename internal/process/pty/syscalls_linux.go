//go:build amd64 || arm64 || riscv64 || loong64

package pty

import "golang.org/x/sys/unix"

// A callKind groups the system calls in which a thread can wait.
type callKind int

const (
	callRead       callKind = iota + 1 // fd in the first argument
	callWrite                          // fd in the first argument
	callSelect                         // nfds, read, write, except, *timespec or *timeval
	callPoll                           // *pollfd, n, milliseconds
	callPpoll                          // *pollfd, n, *timespec
	callEpoll                          // epfd, events, n, milliseconds
	callEpoll2                         // epfd, events, n, *timespec
	callFutex                          // *word, op, value, *timespec
	callChild                          // waits for a child
	callSignal                         // waits for a signal
	callSignalTime                     // set, info, *timespec
	callSleep                          // waits for time to pass
	callRestart                        // an interrupted call goes on; which one is not said
	callRing                           // io_uring: what it waits for is not said
)

type callInfo struct {
	kind callKind
	name string
}

// calls has the system calls of all processors; archCalls adds those that only
// older ones have.
var calls = map[int64]callInfo{
	unix.SYS_READ:            {callRead, "read"},
	unix.SYS_READV:           {callRead, "readv"},
	unix.SYS_WRITE:           {callWrite, "write"},
	unix.SYS_WRITEV:          {callWrite, "writev"},
	unix.SYS_PSELECT6:        {callSelect, "pselect6"},
	unix.SYS_PPOLL:           {callPpoll, "ppoll"},
	unix.SYS_EPOLL_PWAIT:     {callEpoll, "epoll_pwait"},
	unix.SYS_EPOLL_PWAIT2:    {callEpoll2, "epoll_pwait2"},
	unix.SYS_FUTEX:           {callFutex, "futex"},
	unix.SYS_WAIT4:           {callChild, "wait4"},
	unix.SYS_WAITID:          {callChild, "waitid"},
	unix.SYS_RT_SIGSUSPEND:   {callSignal, "rt_sigsuspend"},
	unix.SYS_RT_SIGTIMEDWAIT: {callSignalTime, "rt_sigtimedwait"},
	unix.SYS_NANOSLEEP:       {callSleep, "nanosleep"},
	unix.SYS_CLOCK_NANOSLEEP: {callSleep, "clock_nanosleep"},
	unix.SYS_RESTART_SYSCALL: {callRestart, "restart_syscall"},
	unix.SYS_IO_URING_ENTER:  {callRing, "io_uring_enter"},
	unix.SYS_RECVFROM:        {0, "recvfrom"},
	unix.SYS_RECVMSG:         {0, "recvmsg"},
	unix.SYS_ACCEPT4:         {0, "accept4"},
	unix.SYS_CONNECT:         {0, "connect"},
	unix.SYS_FLOCK:           {0, "flock"},
	unix.SYS_FCNTL:           {0, "fcntl"},
	unix.SYS_IOCTL:           {0, "ioctl"},
}
