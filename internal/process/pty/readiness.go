package pty

import "time"

// ReadyState says whether a program waits for its user.
type ReadyState string

// States. Unknown is a valid result: the kernel does not say.
const (
	Ready   ReadyState = "ready"   // only terminal input can wake the foreground group
	Busy    ReadyState = "busy"    // it runs, or waits for something that is not the terminal
	Unknown ReadyState = "unknown" // it waits for the terminal and for more, or may not be inspected
)

// Readiness is the result of a Probe.
//
// Ready applies to the moment of the probe, with an empty input queue and all
// output processed. To be sure that a program is idle, probe twice: if there
// was no output in between and the Fingerprints are equal, no thread of the
// group ran in between. A program that queries the terminal (for the cursor
// position, for example) waits for the reply as it waits for a key, so the
// caller must have replied.
type Readiness struct {
	State ReadyState
	Why   string // for people: "python3 (pid 12) waits in pselect6 for the terminal"

	PID     int    // the process that decided, or 0
	Command string // its command line in short, or ""
	Group   int    // the foreground process group, or 0

	// Gone qualifies Unknown: the terminal has no foreground process. Most
	// likely the program has just exited.
	Gone bool

	Echo, Canonical bool // the terminal's modes at the probe

	// Timeout is the time after which the reader wakes up by itself; 0 means
	// never. An editor that wakes every few seconds still counts as ready.
	Timeout time.Duration
	// OnlyTimers qualifies Unknown: the group waits for the terminal and its
	// own timers only. An event loop with a timer looks the same whether it is
	// idle or sleeps as part of a command, so callers need another indication,
	// such as a known prompt.
	OnlyTimers bool

	// Quiet qualifies OnlyTimers: the reader polls the terminal with a short
	// timeout. If every probe says so for this long, without output, the
	// program is most likely idle (irb, ipython). Zero means that no silence
	// is conclusive.
	Quiet time.Duration

	// Outside qualifies Busy: the group waits for something from outside, such
	// as a socket or a file, that may come at any time or never. A server
	// between two requests is Busy for as long as it runs.
	Outside bool

	// Set only if the processes give no other reason to be Busy.
	InputPending  bool // the program has not read all that was typed
	OutputPending bool // the master has output that is not read or not handled yet

	// Fingerprint is zero if State is Busy.
	Fingerprint Fingerprint
}

// A Fingerprint changes when a thread of the foreground group runs, starts or
// ends, and when another group takes over. Compare with ==.
type Fingerprint struct {
	Group   int
	Threads int
	Sum     uint64
}
