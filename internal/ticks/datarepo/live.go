package datarepo

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"den/internal/ticks/isotime"
	"den/internal/ticks/jsonobject"
)

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
	if v, ok := o.Get("tick"); ok {
		if s.Tick, err = v.Int(); err != nil {
			return nil, fmt.Errorf("data repository '%s': %w", r.path, jsonobject.Key("tick", err))
		}
	}
	return s, nil
}
