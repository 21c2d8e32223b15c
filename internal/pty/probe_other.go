//go:build !linux

package pty

// Probe answers unknown: only Linux says what a process waits for.
func (p *PTY) Probe() Readiness {
	r := Readiness{State: Unknown, Why: "this system does not tell what a process waits for"}
	r.Group, _ = p.ForegroundGroup()
	r.Echo, r.Canonical, _ = p.Echo()
	return r
}

// Descendants needs Linux's /proc; elsewhere it finds none.
func Descendants(int) []int { return nil }

// Marked needs Linux's /proc; elsewhere it finds none.
func Marked(string) []int { return nil }

// CommandLine needs Linux's /proc; elsewhere it is empty.
func CommandLine(int) string { return "" }
