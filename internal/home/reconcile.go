package home

import (
	"os"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/pty"
)

// Reconcile writes down that a session is lost, once its host no longer holds
// the lock, and ends what the host left behind. On a Home that this process
// may not write to it only looks. It returns the record that is true now.
func (d Dir) Reconcile() (*Manifest, error) {
	m, stale, err := d.inspect()
	if err != nil || !stale {
		return m, err
	}
	d.Sweep()
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

// sweepLimit bounds how long Sweep waits for what it killed: only a process
// stuck in the kernel takes longer.
const sweepLimit = 2 * time.Second

// Sweep kills the processes of a session whose host is gone: those that
// survived the hang-up of their terminal, found by their environment. It
// returns when they are gone, with their number.
func (d Dir) Sweep() int {
	killed := map[int]bool{}
	for begun := time.Now(); time.Since(begun) < sweepLimit; time.Sleep(time.Millisecond) {
		left := 0
		for _, pid := range pty.Marked(ProgramMark + "=" + d.ID) {
			if pid == os.Getpid() {
				continue
			}
			left++
			killed[pid] = true
			syscall.Kill(pid, syscall.SIGKILL) // Best effort: it may have ended.
		}
		if left == 0 {
			break
		}
	}
	return len(killed)
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
