package controller

import (
	"fmt"
	"strings"
	"time"

	"den/internal/keeper"
)

// desired is what the workspace and its user want of an agent.
type desired struct {
	run       bool
	suspended bool
	why       string // it is not to run, or runs
	gently    bool   // it may finish its work before it is stopped
	waitsFor  string // another agent that must run first, or ""
}

// observed is what is true of an agent, as far as it could be asked.
type observed struct {
	known     bool // or nothing else here counts
	problem   string
	running   bool
	partial   bool     // it runs, but its start was cut off
	drift     []string // what differs from what it was started with
	held      string   // why it must be left alone now, or ""
	queued    bool     // it may not be replaced yet: others are
	drained   bool     // it says that it has finished its work
	lastWrite time.Time
	ready     bool // it waits for input
}

// action is what is to be done next.
type action string

const (
	rest    action = "rest"
	start   action = "start"
	stop    action = "stop"
	drain   action = "drain"
	undrain action = "undrain"
	clean   action = "clean"  // end what it left behind
	report  action = "report" // tell that it stalls
)

// decision is the rule's answer: what to do, why, and when to look again.
type decision struct {
	do      action
	actual  string
	why     string
	again   time.Time // zero: when something happens
	stalled bool      // it is stopped because it stalled
}

// decide is the rule. It is a function of its arguments and changes nothing.
func decide(w desired, s observed, m memory, p Policy, now time.Time) decision {
	switch {
	case !s.known:
		// Whoever could not ask must not start a second one.
		return decision{do: rest, actual: keeper.Unknown, why: "could not ask: " + s.problem, again: now.Add(p.Patrol)}
	case s.running && !w.run:
		return decideEnd(w, s, m, p, now)
	case s.running && s.partial:
		return decision{do: start, actual: keeper.Starting, why: "its start was cut off"}
	case s.running:
		return decideRunning(s, m, p, now)
	case !w.run && m.Left:
		return decision{do: clean, actual: keeper.Stopping, why: w.why}
	case !w.run:
		return decision{do: rest, actual: keeper.Stopped, why: w.why}
	}
	return decideStart(w, m, p, now)
}

// decideEnd is for one that runs and shall not.
func decideEnd(w desired, s observed, m memory, p Policy, now time.Time) decision {
	if !w.gently || p.DrainTimeout <= 0 {
		return decision{do: stop, actual: keeper.Stopping, why: w.why}
	}
	return draining(s, m, p, now, w.why)
}

// drainPoll is how often an agent that was asked to finish is looked at: one
// that is back at its prompt does not say so.
const drainPoll = time.Second

// draining asks an agent to finish, waits until it says so, and then stops it.
func draining(s observed, m memory, p Policy, now time.Time, why string) decision {
	if m.Drain == nil {
		return decision{do: drain, actual: keeper.Stopping, why: why}
	}
	deadline := m.Drain.Since.Add(p.DrainTimeout)
	switch {
	case s.drained:
		return decision{do: stop, actual: keeper.Stopping, why: why + "; it has finished"}
	case !now.Before(deadline):
		return decision{do: stop, actual: keeper.Stopping, why: fmt.Sprintf("%s; it did not finish within %s", why, p.DrainTimeout)}
	}
	return decision{do: rest, actual: keeper.Stopping, why: why + "; it may finish first", again: sooner(deadline, now.Add(drainPoll))}
}

// decideRunning is for one that runs and shall.
func decideRunning(s observed, m memory, p Policy, now time.Time) decision {
	up := decision{do: rest, actual: keeper.Running, why: "runs"}
	switch {
	case m.RestartAsked:
		return decision{do: stop, actual: keeper.Stopping, why: "a restart was asked for"}
	case len(s.drift) > 0 && s.held != "":
		up.why = fmt.Sprintf("runs with an old configuration (%s): not restarted while %s", strings.Join(s.drift, ", "), s.held)
		up.again = now.Add(p.Patrol)
		return up
	case s.queued:
		up.why = fmt.Sprintf("runs with an old configuration (%s): others are replaced first, %d at a time", strings.Join(s.drift, ", "), p.MaxReplacing)
		up.again = now.Add(p.Patrol)
		return up
	case len(s.drift) > 0:
		why := "its configuration changed: " + strings.Join(s.drift, ", ")
		if p.DrainTimeout <= 0 {
			return decision{do: stop, actual: keeper.Stopping, why: why}
		}
		return draining(s, m, p, now, why)
	case m.Drain != nil:
		return decision{do: undrain, actual: keeper.Running, why: "the reason to stop it has gone"}
	}
	silent := m.silentSince(s.lastWrite)
	if p.IdleTimeout > 0 && s.held == "" {
		if due := silent.Add(p.IdleTimeout); !now.Before(due) {
			return decision{do: stop, actual: keeper.Stopping, why: fmt.Sprintf("it was idle for %s", p.IdleTimeout)}
		} else {
			up.again = sooner(up.again, due)
		}
	}
	if p.StallTimeout > 0 && !s.ready {
		due := silent.Add(p.StallTimeout)
		switch {
		case now.Before(due):
			up.again = sooner(up.again, due)
		case p.StallRestart && s.held == "":
			return decision{do: stop, actual: keeper.Stopping, stalled: true, why: fmt.Sprintf("it stalled: no output for %s, and it does not wait for input", p.StallTimeout)}
		case !m.Stalled:
			return decision{do: report, actual: keeper.Running, why: fmt.Sprintf("stalls: no output for %s, and it does not wait for input", p.StallTimeout)}
		default:
			up.why = fmt.Sprintf("stalls: no output for %s, and it does not wait for input", p.StallTimeout)
		}
	}
	if !m.Started.IsZero() && m.Failures > 0 {
		up.again = sooner(up.again, m.Started.Add(p.stableAfter(m))) // then its failures are forgiven
	}
	return up
}

// decideStart is for one that does not run and shall.
func decideStart(w desired, m memory, p Policy, now time.Time) decision {
	switch {
	case m.Finished != "" && m.Left:
		return decision{do: clean, actual: keeper.Stopping, why: ending(m.ExitCode)}
	case m.Finished != "":
		return decision{do: rest, actual: keeper.Finished, why: fmt.Sprintf("%s, and restart.policy is %s; 'den agent start' starts it again", ending(m.ExitCode), p.Restart)}
	case now.Before(m.QuarantinedUntil):
		return decision{do: rest, actual: keeper.Quarantined, again: m.QuarantinedUntil,
			why: fmt.Sprintf("it failed too often (%s); one more try at %s, or 'den agent reset'", m.LastFailure, m.QuarantinedUntil.Local().Format(time.TimeOnly))}
	case w.waitsFor != "":
		return decision{do: rest, actual: keeper.Stopped, why: "waits for " + w.waitsFor}
	case now.Before(m.NotBefore) && m.PrepareFailures > 0:
		return decision{do: rest, actual: keeper.Starting, again: m.NotBefore,
			why: fmt.Sprintf("its place could not be made ready %d times in a row (%s); the next try is at %s", m.PrepareFailures, m.LastFailure, m.NotBefore.Local().Format(time.TimeOnly))}
	case now.Before(m.NotBefore):
		return decision{do: rest, actual: keeper.Starting, again: m.NotBefore,
			why: fmt.Sprintf("failed %d times in a row (%s); the next try is at %s", m.Failures, m.LastFailure, m.NotBefore.Local().Format(time.TimeOnly))}
	}
	why := "is wanted"
	if m.Trial() {
		why = "is tried again after its quarantine"
	}
	return decision{do: start, actual: keeper.Starting, why: why}
}

// sooner is the earlier of two times, of which zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
