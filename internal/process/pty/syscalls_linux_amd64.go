package pty

import "golang.org/x/sys/unix"

var archCalls = map[int64]callInfo{
	unix.SYS_SELECT:     {callSelect, "select"},
	unix.SYS_POLL:       {callPoll, "poll"},
	unix.SYS_EPOLL_WAIT: {callEpoll, "epoll_wait"},
	unix.SYS_PAUSE:      {callSignal, "pause"},
}
