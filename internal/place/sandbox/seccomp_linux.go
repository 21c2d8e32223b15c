package sandbox

import (
	"runtime"
	"unsafe"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// archs are the machines whose calls the filter knows, as the kernel names them.
var archs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Where the parts of a call are in what a filter sees.
const (
	atCall = 0
	atArch = 4
	atArg0 = 16
	atArg1 = 24
)

const x32Bit = 0x40000000

// ioprioProcess is the first argument of ioprio_set that means a process.
const ioprioProcess = 1

// ipcCalls are all calls of System V's IPC and of POSIX' message queues.
var ipcCalls = []uintptr{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT,
	unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
	unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGRCV, unix.SYS_MSGSND,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR,
}

// filter is a program for the kernel. Every part of it ends in a decision or
// falls through to the next with the call's number loaded.
type filter []unix.SockFilter

func (f *filter) op(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(at uint32) { f.op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at, 0, 0) }

func (f *filter) refuse(errno unix.Errno) {
	f.op(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(errno), 0, 0)
}

// deny refuses a call.
func (f *filter) deny(call uintptr, errno unix.Errno) {
	f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(call), 0, 1)
	f.refuse(errno)
}

// only refuses a call unless an argument is one of some values; except turns
// that around.
func (f *filter) only(call uintptr, arg uint32, errno unix.Errno, except bool, values ...uint32) {
	n := uint8(len(values))
	f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(call), 0, n+3)
	f.load(arg)
	for i, v := range values {
		f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, n-uint8(i), 0)
	}
	if except {
		f.op(unix.BPF_JMP|unix.BPF_JA|unix.BPF_K, 1, 0, 0)
		f.refuse(errno)
	} else {
		f.refuse(errno)
		f.op(unix.BPF_JMP|unix.BPF_JA|unix.BPF_K, 0, 0, 0)
	}
	f.load(atCall)
}

// filterCalls gives up the calls that reach what neither files nor namespaces
// hold: other kinds of sockets, other processes' limits and priorities, keys of
// the kernel, input for the terminal.
func (p Policy) filterCalls() error {
	arch, ok := archs[runtime.GOARCH]
	if !ok {
		return fault.Errorf(fault.Unsupported, "den does not know the system calls of %s", runtime.GOARCH)
	}
	var f filter
	f.load(atArch)
	f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, arch, 1, 0)
	f.refuse(unix.ENOSYS) // the calls of another machine have other numbers
	f.load(atCall)
	if runtime.GOARCH == "amd64" {
		f.op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1)
		f.refuse(unix.ENOSYS)
	}
	f.only(unix.SYS_SOCKET, atArg0, unix.EACCES, false, p.families()...)
	f.deny(unix.SYS_IO_URING_SETUP, unix.ENOSYS) // it would make sockets that no filter sees
	for _, call := range []uintptr{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY} {
		f.deny(call, unix.ENOSYS)
	}
	f.only(unix.SYS_IOCTL, atArg1, unix.EPERM, true, unix.TIOCSTI, unix.TIOCLINUX)
	// Only the caller's own: a filter does not know whose another number is.
	for _, call := range []uintptr{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR} {
		f.only(call, atArg0, unix.EPERM, false, 0)
	}
	f.only(unix.SYS_SETPRIORITY, atArg0, unix.EPERM, false, unix.PRIO_PROCESS)
	f.only(unix.SYS_SETPRIORITY, atArg1, unix.EPERM, false, 0)
	f.only(unix.SYS_IOPRIO_SET, atArg0, unix.EPERM, false, ioprioProcess)
	f.only(unix.SYS_IOPRIO_SET, atArg1, unix.EPERM, false, 0)
	if !p.Held.Hides() { // else it has an IPC namespace of its own
		for _, call := range ipcCalls {
			f.deny(call, unix.ENOSYS)
		}
	}
	f.op(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fault.Errorf(fault.Internal, "restrict system calls: %w", err)
	}
	return nil
}

// families are the kinds of sockets that the agent may make. Unix sockets can
// be kept from others' files only where these are not there, or by a newer
// Landlock.
func (p Policy) families() []uint32 {
	var all []uint32
	if p.Held.Hides() || p.Held.Landlock >= abiSockets {
		all = append(all, unix.AF_UNIX)
	}
	if p.Network != NetworkNone {
		all = append(all, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK) // the last to list addresses
	}
	return all
}
