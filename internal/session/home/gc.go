package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/process/supervise"
)

// GCOptions selects the final sessions to remove.
type GCOptions struct {
	OlderThan time.Duration // since they ended
	Keep      int           // the newest final sessions that stay
	DryRun    bool
	Only      func(id string) bool // or nil: all
}

// Collected is one session that gc removed, or would remove.
type Collected struct {
	Session string `json:"session"`
	ID      string `json:"id"`
	Status  Status `json:"status"`
	Home    string `json:"home"`
	Bytes   int64  `json:"bytes"`
}

// Collect removes the directories of final sessions of a Home, never those of
// active ones, and empty cgroups that deleted sessions left behind. The error
// lists what could not be removed.
func (h Home) Collect(now time.Time, o GCOptions) ([]Collected, error) {
	if err := h.CheckOwner(); err != nil {
		return nil, err
	}
	all, err := h.All()
	if err != nil {
		return nil, err
	}
	var removed []Collected
	var errs []error
	kept := 0
	for i := len(all) - 1; i >= 0; i-- { // the newest first: they are kept
		d := all[i]
		m, err := d.Inspect()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if m.Status.Active() {
			continue
		}
		if o.Only != nil && !o.Only(d.ID) {
			continue
		}
		if kept < o.Keep || now.Sub(m.endTime()) < o.OlderThan {
			kept++
			continue
		}
		c := Collected{Session: m.Name, ID: d.ID, Status: m.Status, Home: h.Path, Bytes: d.size()}
		if !o.DryRun {
			if err := d.remove(m); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		removed = append(removed, c)
	}
	if !o.DryRun {
		errs = append(errs, h.removeDebris(now), supervise.RemoveEmptyCgroups(now.Add(-debrisAge)))
	}
	return removed, errors.Join(errs...)
}

// debrisAge is the age from which a session directory without a record, or an
// empty cgroup, is removed. A newer one may still be under construction.
const debrisAge = time.Minute

// removeDebris deletes directories of sessions whose creation was interrupted.
func (h Home) removeDebris(now time.Time) error {
	entries, err := os.ReadDir(h.sessionsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "remove debris: %w", err)
	}
	var errs []error
	for _, e := range entries {
		d := h.Dir(e.Name())
		fi, err := e.Info()
		if err != nil || !e.IsDir() || !ident.IsID(e.Name()) || d.exists() || now.Sub(fi.ModTime()) < debrisAge {
			continue
		}
		if held, err := filelock.Held(d.lock()); err == nil && !held {
			errs = append(errs, os.RemoveAll(d.Path))
		}
	}
	return errors.Join(errs...)
}

func (m *Manifest) endTime() time.Time {
	if m.Ended.IsZero() {
		return m.Created // lost: nobody wrote down when
	}
	return m.Ended
}

// remove deletes a final session's directory and frees its name. The record
// goes first, so that no reader finds an incomplete session.
func (d Dir) remove(m *Manifest) error {
	if _, err := d.Sweep(); err != nil {
		return err
	}
	if err := os.Remove(d.manifest()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "remove session '%s': %w", m.Name, err)
	}
	link := filepath.Join(d.Home.namesDir(), m.Name)
	if lock, err := d.Home.lockNames(); err == nil {
		if target, err := os.Readlink(link); err == nil && filepath.Base(target) == d.ID {
			os.Remove(link) // Best effort: a link to nothing is as good as none.
		}
		lock.Close() // Best effort: nothing was written.
	}
	if err := os.RemoveAll(d.Path); err != nil {
		return fault.Errorf(fault.Storage, "remove session '%s': %w", m.Name, err)
	}
	return nil
}

// size returns the bytes of a session's files.
func (d Dir) size() int64 {
	var total int64
	// Best effort: a file that vanishes meanwhile counts nothing.
	_ = filepath.WalkDir(d.Path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if fi, err := e.Info(); err == nil {
			total += fi.Size()
		}
		return nil
	})
	return total
}
