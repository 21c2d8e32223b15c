package pty

import (
	"den/internal/base/lazy"

	"golang.org/x/sys/unix"
)

var archCalls = lazy.Value[callTable]{Make: func() callTable {
	return callTable{
		unix.SYS_SELECT:     {callSelect, "select"},
		unix.SYS_POLL:       {callPoll, "poll"},
		unix.SYS_EPOLL_WAIT: {callEpoll, "epoll_wait"},
		unix.SYS_PAUSE:      {callSignal, "pause"},
	}
}}
