//go:build !linux || !(amd64 || arm64 || riscv64 || loong64)

package pty

// probing is empty where probes are not supported.
type probing struct{}

// Drained returns false: the terminal's queues are not known.
func (p *PTY) Drained() bool { return false }

// OutputPending returns false: the terminal's queues are not known.
func (p *PTY) OutputPending() bool { return false }

// Reads needs a kernel that tells.
func (p *PTY) Reads(int) (waits, known bool) { return false, false }

// Probe returns Unknown. Only Linux reports what a process waits for, and only
// on processors whose system call numbers den knows.
func (p *PTY) Probe() Readiness {
	r := Readiness{State: Unknown, Why: "this system does not tell what a process waits for"}
	r.Group, _ = p.ForegroundGroup()
	r.Echo, r.Canonical, _ = p.Echo()
	return r
}
