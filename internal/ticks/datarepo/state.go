package datarepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/isotime"
	"den/internal/ticks/jsonobject"
)

// State is what is known of an agent's ticks, system/state.json. Times are
// local, because that is what tools of the agent expect there.
type State struct {
	TickCount     int       // of ticks that have begun
	LastTick      time.Time // when the last one began; zero: never
	LastTickEnd   time.Time // when one last ended; zero: never
	FirstTickDate string    // YYYY-MM-DD, or ""

	object *jsonobject.Object // as it was read, or nil
	read   *State             // the fields as they were read, or nil
}

// ErrCorrupt means that a file's content makes no sense.
var ErrCorrupt = errors.New("the file is damaged")

// State reads the state. A missing file is an empty one that counts from the
// logs; a damaged one is ErrCorrupt, and stays as it is.
func (r *Repo) State() (State, error) {
	data, _, err := r.Read(stateFile, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		highest, err := r.HighestTick()
		return State{TickCount: highest}, err
	}
	if err != nil {
		return State{}, err
	}
	s, err := parseState(data)
	if err != nil {
		err = fault.Errorf(fault.Storage, "data repository '%s': %w: %w", r.path, ErrCorrupt, err)
		return State{}, fault.Hintf(err, "the next tick keeps it aside and counts on from the logs")
	}
	return s, nil
}

// StateForTick is State for whoever begins a tick. A damaged file is kept
// aside, and counting goes on from the logs; then told says so.
func (r *Repo) StateForTick(now time.Time) (s State, told string, err error) {
	s, err = r.State()
	if !errors.Is(err, ErrCorrupt) {
		return s, "", err
	}
	why := err
	highest, err := r.HighestTick()
	if err != nil {
		return State{}, "", err
	}
	aside, err := r.KeepAside(stateFile, now)
	if err != nil {
		return State{}, "", err
	}
	return State{TickCount: highest}, fmt.Sprintf("%v; it is kept as %s, and ticks are counted on from %d", why, aside, highest), nil
}

func parseState(data []byte) (State, error) {
	object, err := jsonobject.Parse(stateFile, data)
	if err != nil {
		return State{}, err
	}
	s := State{object: object}
	if err := jsonobject.Field(object, "tick_count", count, &s.TickCount); err != nil {
		return State{}, err
	}
	s.LastTick = localTime(object, "last_tick")
	s.LastTickEnd = localTime(object, "last_tick_end")
	s.FirstTickDate = textOf(object, "first_tick_date")
	read := s
	s.read = &read
	return s, nil
}

// localTime is a time, zero if it is missing or none: the count of ticks is
// worth more than that.
func localTime(o *jsonobject.Object, key string) time.Time {
	t, err := isotime.Parse(textOf(o, key), time.Local)
	if err != nil {
		return time.Time{}
	}
	return t
}

// textOf is a string, "" if it is missing or none.
func textOf(o *jsonobject.Object, key string) (s string) {
	_ = jsonobject.Field(o, key, jsonobject.Value.Text, &s) // Best effort, as above.
	return s
}

// SaveState writes the state. What State did not understand stays.
func (r *Repo) SaveState(s State) error {
	data, err := encodeState(s)
	if err != nil {
		return fmt.Errorf("write the state of data repository '%s': %w", r.path, err)
	}
	return r.Write(stateFile, data)
}

// EditState changes the state as it is now: the agent may have put keys of its
// own into the file since it was read last.
func (r *Repo) EditState(ctx context.Context, change func(*State) error) error {
	return r.Edit(ctx, func() error {
		s, err := r.State()
		if err != nil {
			return err
		}
		if err := change(&s); err != nil {
			return err
		}
		return r.SaveState(s)
	})
}

func encodeState(s State) ([]byte, error) {
	object, was := jsonobject.New(), &State{TickCount: -1} // a new file has the count at least
	if s.object != nil {
		object, was = s.object.Clone(), s.read
	}
	written := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return isotime.Naive(t, time.Local)
	}
	var errs []error
	set := func(key string, value any, changed bool) {
		if changed {
			errs = append(errs, object.Set(key, value))
		}
	}
	set("tick_count", s.TickCount, s.TickCount != was.TickCount)
	set("last_tick", written(s.LastTick), !s.LastTick.Equal(was.LastTick))
	set("last_tick_end", written(s.LastTickEnd), !s.LastTickEnd.Equal(was.LastTickEnd))
	set("first_tick_date", s.FirstTickDate, s.FirstTickDate != was.FirstTickDate)
	return object.File(), errors.Join(errs...)
}

// LiveStatus is what the agent does at the moment, tmp/live_status.json.
type LiveStatus struct {
	Tick    int
	Tool    string
	Status  string // for people; "" means "Tick N: TOOL"
	Updated time.Time
}

// SetLiveStatus replaces the status. It is not synced: after a loss of power
// nothing runs any more.
func (r *Repo) SetLiveStatus(s LiveStatus) error {
	if s.Status == "" {
		s.Status = fmt.Sprintf("Tick %d: %s", s.Tick, s.Tool)
	}
	o := jsonobject.New()
	err := errors.Join(o.Set("status", s.Status), o.Set("updated", isotime.Naive(s.Updated, time.Local)), o.Set("tick", s.Tick), o.Set("tool", s.Tool))
	if err != nil {
		return err
	}
	return r.Replace(liveFile, o.File())
}

// LiveStatus returns what the agent did last, nil if there is nothing.
func (r *Repo) LiveStatus() (*LiveStatus, error) {
	data, _, err := r.Read(liveFile, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := jsonobject.Parse(liveFile, data)
	if err != nil {
		return nil, fmt.Errorf("data repository '%s': %w", r.path, err)
	}
	s := &LiveStatus{Tool: textOf(o, "tool"), Status: textOf(o, "status"), Updated: localTime(o, "updated")}
	if err := jsonobject.Field(o, "tick", jsonobject.Value.Int, &s.Tick); err != nil {
		return nil, fmt.Errorf("data repository '%s': %w", r.path, err)
	}
	return s, nil
}
