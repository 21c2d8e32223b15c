package pty

import (
	"fmt"
	"strings"
	"time"
)

// A waitKind is what one thread of the foreground group is doing, as far as
// it matters to whether the group waits for the terminal alone.
type waitKind int

const (
	runs    waitKind = iota + 1 // it runs, or is about to, or cannot be interrupted
	hidden                      // the kernel does not permit inspection
	mixed                       // waits for the terminal and for something from outside
	reads                       // waits for the terminal; the rest of what it waits for is its own
	foreign                     // waits for something from outside
	timed                       // wakes up by itself after a time
	parked                      // wakes up only when another thread of the group wakes it
)

// waiting is one thread's answer.
type waiting struct {
	pid  int
	comm string
	kind waitKind
	call string // the system call's name, or ""
	what string // what it waits for or why it is hidden, for people; or ""

	timeout time.Duration // of reads and timed; 0 means none, or not known
	loop    bool          // of reads: an event loop, which waits for more than the terminal
}

// shortest is the least timeout of a reader that counts as waiting. A program
// that wakes more often polls its keyboard between steps of work.
const shortest = 250 * time.Millisecond

// decide determines the state of a foreground group. It is a pure function.
// Ready means that only terminal input can wake any of the threads. raw is set
// if the terminal passes on every key at once.
func decide(threads []waiting, raw bool) (state ReadyState, why string, by waiting, onlyTimers bool) {
	first := make(map[waitKind]waiting, 8)
	for _, t := range threads {
		if _, ok := first[t.kind]; !ok || t.kind == reads && t.timeout > 0 {
			first[t.kind] = t // Of several readers the one with a timer decides.
		}
	}
	reader, read := first[reads]
	if t, ok := first[runs]; ok {
		if t.what == "" {
			t.what = "runs"
		}
		return Busy, fmt.Sprintf("%s (pid %d) %s", t.comm, t.pid, t.what), t, false
	}
	if t, ok := first[hidden]; ok {
		return Unknown, fmt.Sprintf("%s (pid %d) may not be looked at: %s", t.comm, t.pid, t.what), t, false
	}
	if t, ok := first[mixed]; ok {
		return Unknown, fmt.Sprintf("%s (pid %d) waits in %s for the terminal and for %s", t.comm, t.pid, t.call, t.what), t, false
	}
	if t, ok := first[foreign]; ok && !read && raw && strings.HasPrefix(t.what, "socket:") {
		// A client that handed the terminal to its server looks like this; a
		// program that merely waits for the network leaves the terminal as it is.
		return Unknown, fmt.Sprintf("%s (pid %d) waits in %s for %s with the terminal in raw mode: somebody else may read it", t.comm, t.pid, t.call, t.what), t, false
	}
	if !read {
		for _, kind := range []waitKind{foreign, timed, parked} {
			if t, ok := first[kind]; ok {
				return Busy, fmt.Sprintf("%s (pid %d) waits%s%s, not for the terminal", t.comm, t.pid, in(t.call), on(t.what)), t, false
			}
		}
		return Unknown, "no process in the foreground", waiting{}, false
	}
	for _, kind := range []waitKind{foreign, timed} {
		if t, ok := first[kind]; ok {
			return Unknown, fmt.Sprintf("%s (pid %d) waits for the terminal, but %s (pid %d) may go on without it: it waits%s%s",
				reader.comm, reader.pid, t.comm, t.pid, in(t.call), on(t.what)), reader, kind == timed
		}
	}
	why = fmt.Sprintf("%s (pid %d) waits%s for the terminal", reader.comm, reader.pid, in(reader.call))
	if reader.timeout > 0 {
		if reader.loop || reader.timeout < shortest {
			return Unknown, why + " and for a timer of " + reader.timeout.String(), reader, true
		}
		why += fmt.Sprintf(", at most %s", reader.timeout)
	}
	return Ready, why, reader, false
}

// longestTurn is the longest timeout that is attributed to the reader's event
// loop. A longer one may be a pause that the user asked for.
const longestTurn = time.Second

// quiet returns how long a reader with a short timeout must have been silent
// to be considered idle: a bit more than two turns of its loop. It returns 0
// if something else prevents the group from being ready.
func quiet(threads []waiting, onlyTimers bool) time.Duration {
	var longest time.Duration
	for _, t := range threads {
		if t.kind == timed || t.kind == reads && t.timeout > longestTurn {
			return 0
		}
		if t.kind == reads {
			longest = max(longest, t.timeout)
		}
	}
	if !onlyTimers || longest == 0 {
		return 0
	}
	return 2*longest + 50*time.Millisecond
}

func in(call string) string {
	if call == "" {
		return ""
	}
	return " in " + call
}

func on(what string) string {
	if what == "" {
		return ""
	}
	return " for " + what
}

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
	// Interrupts is set if Ctrl-C interrupts, and makes the terminal drop what was
	// typed and not read.
	Interrupts bool

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

	// Runs qualifies Busy: the process runs, or waits for a processor or a disk.
	Runs bool

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

// A Program is one process of a terminal's foreground group.
type Program struct {
	Process
	Parent int
	Name   string   // by which the kernel knows it, at most 15 bytes
	Exe    string   // the name of the file that it runs, or "": the kernel does not say
	Argv   []string // cut after maxArgv bytes
}

// Bounds of what Foreground returns.
const (
	maxPrograms = 64
	maxArgv     = 4 << 10
)

// Process identifies a process. The pair of PID and start time is never
// reused.
type Process struct {
	PID     int
	Started int // ticks after the system's start
}
