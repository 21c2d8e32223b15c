package pty

// Process is one process: its number and start time are never used again
// together.
type Process struct {
	PID     int
	Started int // ticks after the system's start
}
