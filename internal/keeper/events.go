package keeper

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"den/internal/base/fault"
)

// ReadEvents calls each with the events in the workspace's files, for when no
// keeper answers. Of one agent they are also those from before it moved.
func ReadEvents(s StateDir, from EventsFrom, each func(Event) error) error {
	key, err := keyInEvents(s, from.Agent)
	if err != nil {
		return err
	}
	return scanAll(s, func(e Event) error {
		if e.Seq <= from.After || from.Agent != "" && !e.IsAbout(from.Agent, key) {
			return nil
		}
		return each(e)
	})
}

// keyInEvents returns the key that the agent of that name had last, "" where
// no event is about it.
func keyInEvents(s StateDir, agent string) (key string, err error) {
	if agent == "" {
		return "", nil
	}
	err = scanAll(s, func(e Event) error {
		if e.Agent == agent {
			key = e.agentKey()
		}
		return nil
	})
	return key, err
}

// scanAll calls each with every event that is kept, oldest first.
func scanAll(s StateDir, each func(Event) error) error {
	for _, path := range []string{s.Events() + ".1", s.Events()} {
		if _, err := ScanEvents(path, each); err != nil {
			return err
		}
	}
	return nil
}

// ScanEvents calls each with every whole event of one file, and returns how
// many bytes they take: what is behind them is a line that a dying keeper left
// half written. A file that is not there has no events.
func ScanEvents(path string, each func(Event) error) (whole int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.Errorf(fault.KindOf(err), "read the events: %w", err)
	}
	defer f.Close()
	return DecodeEvents(f, path, each)
}

// DecodeEvents is ScanEvents for a part of a file, which is called name.
func DecodeEvents(from io.Reader, name string, each func(Event) error) (whole int64, err error) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return whole, nil // the end, or a torn last line
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fault.Hintf(fault.Errorf(fault.Storage, "read the events: %s is damaged after byte %d: %w", name, whole, err), "move it away: what happened so far is forgotten, nothing else")
		}
		whole += int64(len(line))
		if err := each(e); err != nil {
			return whole, err
		}
	}
}

// The types of events. They stand in files: add, never rename.
const (
	EventKeeperStarted  = "keeper.started"
	EventKeeperStopped  = "keeper.stopped"
	EventReloaded       = "config.reloaded"
	EventRefused        = "config.refused" // a file with problems
	EventHeld           = "config.held"    // a file that would end many agents at once
	EventStarting       = "agent.starting"
	EventStarted        = "agent.started"
	EventAdopted        = "agent.adopted" // it ran when a keeper came
	EventStartFailed    = "agent.start_failed"
	EventPrepareFailed  = "agent.prepare_failed"  // its place could not be made ready; no failure of the agent
	EventStartCancelled = "agent.start_cancelled" // it is not wanted any more
	EventExited         = "agent.exited"          // nobody asked for its end
	EventStopping       = "agent.stopping"
	EventStopped        = "agent.stopped"
	EventStopFailed     = "agent.stop_failed"
	EventDraining       = "agent.draining"
	EventUndrained      = "agent.undrained"
	EventQuarantined    = "agent.quarantined"
	EventStalled        = "agent.stalled"
	EventDeferred       = "agent.drift_deferred" // not while somebody is there
	EventOrdered        = "agent.ordered"
	EventOrphan         = "agent.orphan" // a session that no agent claims
	EventUnknown        = "agent.unknown"
	EventScaled         = "pool.scaled"
	EventScaleFailed    = "pool.check_failed"
	EventNudged         = "agent.nudged"   // a nudge came to its end, or one that was sent was taken later
	EventAsking         = "agent.asking"   // a coding agent waits for a decision
	EventAnswered       = "agent.answered" // a person answered what it asks
	EventDenied         = "agent.denied"   // its sandbox refused it something
	EventState          = "agent.state"    // a coding agent is ready, busy or has failed
	EventPruned         = "agent.pruned"   // its git worktree was removed; its work is elsewhere
	EventActed          = "agent.acted"    // somebody did something with its session on a dashboard
)
