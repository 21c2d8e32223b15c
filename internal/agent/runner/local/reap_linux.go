package local

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for the process, kills what is left of its group and collects it.
// While the leader is not collected its number, and so the group's, is its own.
func (p *process) reap() error {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break // if it could not be waited for, Wait tells
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // Best effort: most often nobody is left.
	p.over = true
	return p.cmd.Wait()
}
