package pty

import "time"

// ReadyState says whether a program waits for its user.
type ReadyState string

// The states. Unknown is a valid answer: the kernel does not say.
const (
	Ready   ReadyState = "ready"   // only terminal input can wake the foreground group
	Busy    ReadyState = "busy"    // it runs, or waits for something that is not the terminal
	Unknown ReadyState = "unknown" // it waits for the terminal and for more, or may not be inspected
)

// Readiness is one answer of Probe.
//
// Ready holds for the moment of the probe, with the terminal's input queue
// empty and its output drained and handled by its reader. To be sure that a
// program is idle, probe twice: with no output between and equal Fingerprints,
// no thread of the group ran in between. A program that asked the terminal
// something (where the cursor is, what kind it is) waits for the answer as it
// waits for a key, so the caller must have answered.
type Readiness struct {
	State ReadyState
	Why   string // for people: "python3 (pid 12) waits in pselect6 for the terminal"

	PID     int    // the process that decided, or 0
	Command string // its command line in short, or ""
	Group   int    // the foreground process group, or 0

	// Gone qualifies Unknown: no process was found in the terminal's foreground.
	// Most likely the program has just ended.
	Gone bool

	Echo, Canonical bool // the terminal's modes at the probe

	// Timeout is when the reader wakes up by itself; 0 means never. An editor
	// that wakes every few seconds still counts as ready.
	Timeout time.Duration
	// OnlyTimers qualifies Unknown: the group waits for the terminal, and
	// only its own timers can wake it otherwise. An event loop with a
	// timer looks the same whether it idles or sleeps on its user's behalf,
	// so this is for callers that have another sign, such as a known prompt.
	OnlyTimers bool

	// Quiet qualifies OnlyTimers: the reader waits for the terminal for
	// moments at a time. When every probe for so long has said this and no
	// output came, it most likely rests (irb, ipython); what draws a spinner
	// between looks never does. Zero means that no silence tells.
	Quiet time.Duration

	// Looked at only when the processes give no other reason to be Busy.
	InputPending  bool // the program has not read all that was typed
	OutputPending bool // the master has output that is not read or not handled yet

	// Fingerprint is zero when State is Busy: there is nothing to compare.
	Fingerprint Fingerprint
}

// A Fingerprint changes when a thread of the foreground group runs, starts or
// ends, and when another group takes its place. Compare with ==.
type Fingerprint struct {
	Group   int
	Threads int
	Sum     uint64
}
