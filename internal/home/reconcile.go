package home

import (
	"context"
	"fmt"
	"os"
	"time"

	"den/internal/fault"
	"den/internal/supervise"
)

// Reconcile marks a session whose host no longer holds the lock as lost, and
// kills what the host left running. In a Home that this process may not write
// to, it only inspects. It returns the actual record.
func (d Dir) Reconcile() (*Manifest, error) {
	m, stale, err := d.inspect()
	if err != nil || !stale {
		return m, err
	}
	d.Sweep() // Best effort: the session is lost all the same, and gc tries again.
	m.Ended = time.Now().UTC()
	_ = RemoveSocket(socketKey(d.Home, d.ID), os.Getenv) // Best effort: nobody listens there any more.
	if err := d.Save(m); err != nil && !readOnly(err) {
		return m, err
	}
	return m, nil
}

func readOnly(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Storage || kind == fault.Denied
}

// Sweep kills the remaining processes of a session whose host is gone: those
// that survived the hang-up of their terminal. It returns their number once
// they are gone.
func (d Dir) Sweep() (killed int, err error) {
	cgroup := supervise.SessionCgroup(d.ID).Path // of a host that ended before it wrote its record
	if m, err := d.Load(); err == nil && m.Cgroup != "" {
		cgroup = m.Cgroup
	}
	killed, err = supervise.SweepSession(context.Background(), d.ID, cgroup, ProgramMark+"="+d.ID)
	if err != nil {
		return killed, fmt.Errorf("end what is left of session '%s': %w", d.ID, err)
	}
	return killed, nil
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
