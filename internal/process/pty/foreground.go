package pty

// A Program is one process of a terminal's foreground group.
type Program struct {
	Process
	Parent int
	Name   string   // by which the kernel knows it, at most 15 bytes
	Argv   []string // cut after maxArgv bytes
}

// Bounds of what Foreground returns.
const (
	maxPrograms = 64
	maxArgv     = 4 << 10
)
