package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/process/tree"
)

// Reconcile marks a session whose host no longer holds the lock as lost. It
// ends nothing: what the host left running is ended by whoever kills, removes or
// replaces the session. In a Home that this process may not write to, it only
// inspects. It returns the actual record.
func (d Dir) Reconcile() (*Manifest, error) {
	m, stale, err := d.inspect()
	if err != nil || !stale || d.Home.CheckOwner() != nil {
		return m, err
	}
	m.Ended = time.Now().UTC()
	_ = RemoveSocket(socketKey(d.Home, d.ID), os.Getenv) // Best effort: nobody listens there any more.
	if err := d.Save(m); err != nil && !readOnly(err) {
		return m, err
	}
	return m, nil
}

// LeftRunning lists the processes that a dead host left: those that Sweep would
// kill.
func (d Dir) LeftRunning(m *Manifest) []int {
	mark, err := d.Mark()
	if err != nil {
		return nil // its directory was removed meanwhile
	}
	return tree.LeftOf(mark, m.Cgroup)
}

func readOnly(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Storage || kind == fault.Denied
}

// Sweep kills the remaining processes of a session whose host is gone: those
// that survived the hang-up of their terminal. It returns their number once
// they are gone.
func (d Dir) Sweep() (killed int, err error) {
	mark, err := d.Mark()
	if err != nil {
		return 0, fault.Errorf(fault.KindOf(err), "end what is left of session '%s': %w", d.ID, err)
	}
	var cgroup string // none in the record of a host that ended before it wrote it
	if m, err := d.Load(); err == nil {
		cgroup = m.Cgroup
	}
	if killed, err = tree.SweepSession(context.Background(), mark, cgroup); err != nil {
		return killed, fmt.Errorf("end what is left of session '%s': %w", d.ID, err)
	}
	return killed, nil
}

// sweepLost ends what the dead host of a session left, before another session
// takes its name. The zero Dir is none.
func (d Dir) sweepLost() error {
	if d.ID == "" {
		return nil
	}
	m, err := d.Reconcile()
	if err != nil || m.Status != Lost {
		return nil // it is gone or damaged, or its host ended it
	}
	_, err = d.Sweep()
	return err
}

// Close marks a session that is over as destroyed.
func (d Dir) Close(m *Manifest) (*Manifest, error) {
	if m.Status == Destroyed {
		return m, nil
	}
	status, err := m.Status.Advance(Destroyed)
	if err != nil {
		return nil, err
	}
	m.Status = status
	if m.Ended.IsZero() {
		m.Ended = time.Now().UTC()
	}
	return m, d.Save(m)
}

// HeldBy reports whether a process has the lock of this very directory open, as
// its host does: the file itself, not one with its name. Ids and process numbers
// are in the record, which anybody can copy. Only Linux tells; elsewhere it is
// false.
func (d Dir) HeldBy(pid int) bool { return filelock.OpenIn(pid, d.lock()) }

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
		errs = append(errs, h.removeDebris(now), tree.RemoveEmptyCgroups(now.Add(-debrisAge)))
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
