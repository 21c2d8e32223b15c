package home

import (
	"context"
	"fmt"
	"os"
	"time"

	"den/internal/fault"
	"den/internal/supervise"
)

// Reconcile writes down that a session is lost, once its host no longer holds
// the lock, and ends what the host left behind. On a Home that this process
// may not write to it only looks. It returns the record that is true now.
func (d Dir) Reconcile() (*Manifest, error) {
	m, stale, err := d.inspect()
	if err != nil || !stale {
		return m, err
	}
	d.Sweep() // Best effort: the session is lost all the same, and gc tries again.
	m.Ended = time.Now().UTC()
	os.Remove(m.Socket) // Best effort: nobody listens there any more.
	if err := d.Save(m); err != nil && !readOnly(err) {
		return m, err
	}
	return m, nil
}

func readOnly(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Storage || kind == fault.Denied
}

// Sweep kills the processes of a session whose host is gone: those that
// survived the hang-up of their terminal. It returns when they are gone, with
// their number.
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

// Close turns the record of a session that is over into destroyed.
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
