package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/atomicfile"
	"den/internal/fault"
	"den/internal/ident"
)

// NudgeState is how far a nudge has come.
type NudgeState string

// The states. A nudge moves down this list, and back from sending to queued
// only where it was certainly not sent.
const (
	NudgeQueued      NudgeState = "queued"
	NudgeSending     NudgeState = "sending"     // being typed: after a crash, perhaps typed
	NudgeDelivered   NudgeState = "delivered"   // the screen showed that it went in
	NudgeUnconfirmed NudgeState = "unconfirmed" // typed, but the screen did not show it
	NudgeFailed      NudgeState = "failed"      // it cannot be typed at all
)

// Final reports whether nothing more will happen to the nudge.
func (s NudgeState) Final() bool { return s != NudgeQueued && s != NudgeSending }

// A Nudge is text for an agent, as it is kept on disk.
type Nudge struct {
	Version  int        `json:"v"`
	ID       string     `json:"id"`
	Text     string     `json:"text"`
	State    NudgeState `json:"state"`
	Reason   string     `json:"reason,omitempty"` // what it waits for, or why it ended so
	First    bool       `json:"first,omitempty"`  // of the agent's start
	Attempts int        `json:"attempts"`
	Created  time.Time  `json:"created"`
	Updated  time.Time  `json:"updated"`
	// Before is the hash of the screen that it was typed at: who finds the
	// same screen after a crash knows that nothing was typed.
	Before string `json:"before,omitempty"`
}

const (
	nudgeVersion = 1
	maxPending   = 1000     // more are refused as busy
	maxNudge     = 4 << 20  // bytes of one
	keptFinal    = 200      // the oldest of the rest are forgotten
	maxRecord    = 32 << 20 // a larger file is not one of ours
)

// A Queue keeps one agent's nudges in a directory. One process at a time owns
// it: the keeper of the workspace.
type Queue struct {
	dir        string
	timing     Timing
	delivering chan struct{} // holds one token; who has it types
	onEnd      func(Nudge)   // set once, before the first delivery; or nil

	mu      sync.Mutex // guards the fields below
	nudges  []*Nudge   // by id, which is by time
	wake    chan struct{}
	damaged []string
}

// Timing is how patient deliveries are; zero fields have defaults.
type Timing struct {
	Quiet    time.Duration // since a person last typed; 3 s
	Patience time.Duration // for a busy agent to take input; then it is typed all the same; 30 s
	Confirm  time.Duration // for the screen to show it; 5 s
}

// OpenQueue reads the queue in dir, which is made if there is none. A file
// that cannot be read is left where it is, and named by Damaged.
func OpenQueue(dir string, timing Timing) (*Queue, error) {
	if timing.Quiet == 0 {
		timing.Quiet = 3 * time.Second
	}
	if timing.Patience == 0 {
		timing.Patience = 30 * time.Second
	}
	if timing.Confirm == 0 {
		timing.Confirm = 5 * time.Second
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open nudges %s: %w", dir, err)
	}
	q := &Queue{dir: dir, timing: timing, delivering: make(chan struct{}, 1), wake: make(chan struct{}, 1)} // one token each
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open nudges %s: %w", dir, err)
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && ident.IsID(id) {
			q.load(id)
		}
	}
	return q, nil
}

func (q *Queue) load(id string) {
	var n Nudge
	info, err := os.Stat(q.path(id))
	if err == nil && info.Size() > maxRecord {
		err = errors.New("too large")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(q.path(id))
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil || n.ID != id || n.Version > nudgeVersion || n.Text == "" {
		q.damaged = append(q.damaged, q.path(id))
		return
	}
	q.nudges = append(q.nudges, &n)
}

func (q *Queue) path(id string) string { return filepath.Join(q.dir, id+".json") }

// OnEnd has tell called with every nudge that comes to its end. It is to be
// called before anything is delivered.
func (q *Queue) OnEnd(tell func(Nudge)) { q.onEnd = tell }

// Damaged returns the files that could not be read.
func (q *Queue) Damaged() []string { return slices.Clone(q.damaged) }

// Add keeps a nudge. When it returns, the nudge survives everything.
func (q *Queue) Add(text string) (Nudge, error) { return q.add(text, false) }

// addFirst keeps the nudge of a start, in the place of one that an earlier
// start left undelivered: an agent that starts ten times hears it once.
func (q *Queue) addFirst(text string) (Nudge, error) {
	q.mu.Lock()
	var old []*Nudge
	for _, n := range q.nudges {
		if n.First && n.State == NudgeQueued {
			old = append(old, n)
		}
	}
	q.mu.Unlock()
	for _, n := range old {
		if err := q.forget(n); err != nil {
			return Nudge{}, err
		}
	}
	return q.add(text, true)
}

func (q *Queue) add(text string, first bool) (Nudge, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return Nudge{}, fault.Errorf(fault.Usage, "a nudge needs text")
	case len(text) > maxNudge:
		return Nudge{}, fault.Hintf(fault.Errorf(fault.Usage, "a nudge of %d bytes is too long, %d fit", len(text), maxNudge), "put it into a file and name that")
	case q.Pending() >= maxPending:
		return Nudge{}, fault.Hintf(fault.Errorf(fault.Busy, "%d nudges wait already", maxPending), "look at what the agent does: den agent peek")
	}
	now := time.Now()
	n := &Nudge{Version: nudgeVersion, ID: ident.New(now), Text: text, State: NudgeQueued, First: first, Created: now, Updated: now}
	q.mu.Lock()
	defer q.mu.Unlock()
	if last := len(q.nudges) - 1; last >= 0 && n.ID <= q.nudges[last].ID {
		n.ID = ident.New(time.UnixMilli(now.UnixMilli() + 1)) // order is by id: one a millisecond
		for n.ID <= q.nudges[last].ID {
			n.ID = ident.New(time.UnixMilli(time.Now().UnixMilli() + 2))
		}
	}
	if err := atomicfile.WriteJSON(q.path(n.ID), n); err != nil {
		return Nudge{}, err
	}
	q.nudges = append(q.nudges, n)
	select {
	case q.wake <- struct{}{}:
	default: // somebody is told already
	}
	return *n, nil
}

// forget removes a nudge.
func (q *Queue) forget(n *Nudge) error {
	if err := os.Remove(q.path(n.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget nudge %s: %w", n.ID, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nudges = slices.DeleteFunc(q.nudges, func(o *Nudge) bool { return o == n })
	return nil
}

// update changes a nudge, on disk first.
func (q *Queue) update(n *Nudge, change func(*Nudge)) error {
	q.mu.Lock()
	next := *n
	q.mu.Unlock()
	change(&next)
	next.Updated = time.Now()
	if err := atomicfile.WriteJSON(q.path(n.ID), &next); err != nil {
		return err
	}
	q.mu.Lock()
	*n = next
	var final []*Nudge
	for _, o := range q.nudges {
		if o.State.Final() {
			final = append(final, o)
		}
	}
	q.mu.Unlock()
	for _, old := range final[:max(0, len(final)-keptFinal)] {
		if err := q.forget(old); err != nil {
			return err
		}
	}
	return nil
}

// because notes what a nudge waits for; only in memory, as it passes.
func (q *Queue) because(n *Nudge, reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n.Reason = reason
}

// Get returns a nudge by its id.
func (q *Queue) Get(id string) (Nudge, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range q.nudges {
		if n.ID == id {
			return *n, nil
		}
	}
	return Nudge{}, fault.Errorf(fault.NotFound, "no nudge '%s'", id)
}

// List returns all that is kept, the oldest first.
func (q *Queue) List() []Nudge {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []Nudge
	for _, n := range q.nudges {
		all = append(all, *n)
	}
	return all
}

// Pending counts those that wait.
func (q *Queue) Pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	count := 0
	for _, n := range q.nudges {
		if !n.State.Final() {
			count++
		}
	}
	return count
}

// next returns the oldest that waits, or nil.
func (q *Queue) next() *Nudge {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range q.nudges {
		if !n.State.Final() {
			return n
		}
	}
	return nil
}

func (q *Queue) copyOf(n *Nudge) Nudge {
	q.mu.Lock()
	defer q.mu.Unlock()
	return *n
}
