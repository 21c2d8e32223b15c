package home

import (
	"fmt"
	"slices"
)

// Status is where a session is in its life.
type Status string

// The statuses. They are stored in files and sent as JSON: add, never rename.
const (
	Starting   Status = "starting"
	Running    Status = "running"
	Exiting    Status = "exiting"
	Exited     Status = "exited"
	Failed     Status = "failed"
	Destroying Status = "destroying"
	Destroyed  Status = "destroyed"
	// Lost means that the host died without closing the record. How the
	// program ended is unknown.
	Lost Status = "lost"
)

// next lists the valid transitions. A status without an entry is final, except
// that any final session can become destroyed.
var next = map[Status][]Status{
	Starting:   {Running, Failed, Lost},
	Running:    {Exiting, Exited, Destroying, Failed, Lost},
	Exiting:    {Exited, Destroying, Failed, Lost},
	Destroying: {Destroyed, Lost},
	Exited:     {Destroyed},
	Failed:     {Destroyed},
	Lost:       {Destroyed},
}

// Advance returns the new status, or an error that names both.
func (s Status) Advance(to Status) (Status, error) {
	if slices.Contains(next[s], to) {
		return to, nil
	}
	return s, fmt.Errorf("session status %s to %s: not allowed", s, to)
}

// Active reports whether the host may still be running.
func (s Status) Active() bool {
	return s == Starting || s == Running || s == Exiting || s == Destroying
}

// Commandable reports whether the session accepts input.
func (s Status) Commandable() bool { return s == Running }

// Final reports whether the session is over: gc may collect it, and its
// screen is read by replay.
func (s Status) Final() bool { return !s.Active() }
