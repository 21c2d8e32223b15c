package podhost

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// reap collects processes that ended and whose parents did not: they become
// children of a pod's first process.
func (f *first) reap(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		f.reapAll()
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

func (f *first) reapAll() {
	f.starting.Lock()
	defer f.starting.Unlock()
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
