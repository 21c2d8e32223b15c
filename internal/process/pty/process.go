package pty

// Process identifies a process. The pair of PID and start time is never
// reused.
type Process struct {
	PID     int
	Started int // ticks after the system's start
}
