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
