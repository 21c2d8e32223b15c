package history

import (
	"fmt"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
)

// Writer writes the index of one tick. It is safe for concurrent use.
type Writer struct {
	repo *datarepo.Repo

	mu     sync.Mutex // guards the fields below
	tick   Tick
	loaded bool // what an earlier process wrote of the tick is in it
}

// NewWriter returns the writer of a tick. Of t, what is known when the tick
// begins is used. If the index is there already, because the process of the
// tick was killed, it is continued. Nothing is read or written yet.
func NewWriter(repo *datarepo.Repo, t Tick) *Writer { return &Writer{repo: repo, tick: t} }

// Begin writes that the tick has begun.
func (w *Writer) Begin() error {
	return w.edit(w.repo.Write, func(*Tick) {})
}

// Terminal notes that a terminal was opened, or archived.
func (w *Writer) Terminal(one Terminal) error {
	return w.edit(w.repo.Replace, func(t *Tick) { t.put(one) })
}

// End is how a tick ended.
type End struct {
	At      time.Time // now
	Outcome plan.Outcome
	Turns   int
	CostUSD float64
	Context plan.Context
	Last    string
	// Seen is zero, or when a tick whose process was killed was last known to
	// live: then At is not its end.
	Seen time.Time
}

// End writes how the tick ended.
func (w *Writer) End(e End) error {
	return w.edit(w.repo.Write, func(t *Tick) { t.end(e) })
}

func (t *Tick) end(e End) {
	t.Outcome, t.Turns, t.CostUSD, t.Context, t.Last = e.Outcome, e.Turns, e.CostUSD, e.Context, e.Last
	switch {
	case e.Seen.IsZero():
		t.Ended = e.At
	case t.Ended.IsZero(): // else it was written down before the kill
		t.Seen, t.Completed = e.Seen, e.At
	}
}

func (w *Writer) edit(write func(string, []byte) error, change func(*Tick)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loadLocked()
	change(&w.tick)
	data, err := w.tick.encode()
	if err == nil {
		err = write(datarepo.TickIndex(w.tick.Number), data)
	}
	if err != nil {
		return fmt.Errorf("write the index of tick %d: %w", w.tick.Number, err)
	}
	return nil
}

// loadLocked takes over what was written of this tick. An index that cannot be
// read, or is of another tick of the same number, is written over: the terminals
// that it had are found by their archives.
func (w *Writer) loadLocked() {
	if w.loaded {
		return
	}
	w.loaded = true
	if known, err := load(w.repo, w.tick.Number); err == nil && known.Began.Equal(w.tick.Began) {
		w.tick = known
	}
}

// Amend notes a terminal in the index of a tick that is over. Without an index
// that can be read there is nothing to amend: the archive is found by its name.
func Amend(repo *datarepo.Repo, number int, one Terminal) error {
	t, err := load(repo, number)
	if kind := fault.KindOf(err); kind == fault.Protocol || kind == fault.Denied {
		return err
	}
	if err != nil {
		return nil
	}
	w := Writer{repo: repo, tick: t, loaded: true}
	return w.Terminal(one)
}

// load reads an index as it was written.
func load(repo *datarepo.Repo, number int) (Tick, error) {
	data, _, err := repo.Read(datarepo.TickIndex(number), maxIndex)
	if err != nil {
		return Tick{}, err
	}
	return decode(data, number)
}
