//go:build !linux

package local

import "syscall"

// reap waits for the process and kills what is left of its group.
func (p *process) reap() error {
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // Best effort: most often nobody is left.
	return err
}
