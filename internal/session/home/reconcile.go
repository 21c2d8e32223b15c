package home

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/process/supervise"
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
	return supervise.LeftOf(mark, m.Cgroup)
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
	if killed, err = supervise.SweepSession(context.Background(), mark, cgroup); err != nil {
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
func (d Dir) HeldBy(pid int) bool {
	lock, err := os.Lstat(d.lock())
	if err != nil {
		return false
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return err == nil && slices.ContainsFunc(fds, func(path string) bool {
		fi, err := os.Stat(path)
		return err == nil && os.SameFile(lock, fi)
	})
}
