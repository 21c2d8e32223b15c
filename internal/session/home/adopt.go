package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
)

// Adopted is the directory of a session whose host runs on another machine,
// while this process stands in for the host: it holds the session's lock, copies
// its log and serves its socket. When it lets go of the lock without closing the
// record, the session counts as lost until somebody adopts it again.
type Adopted struct {
	Dir    Dir
	Record *Manifest // as it is here
	lock   *os.File
}

// Adopt makes the directory of a session with this record, or takes over the one
// that is there, and gives it its name unless a newer session has that. It waits
// while another process stands in. A session whose record is closed here is
// fault.NotRunning.
func (h Home) Adopt(ctx context.Context, remote *Manifest) (*Adopted, error) {
	if !ident.IsID(remote.ID) {
		return nil, fault.Errorf(fault.Usage, "adopt session %q: that is no id", remote.ID)
	}
	if err := ident.Check("session", remote.Name); err != nil {
		return nil, err
	}
	if err := h.makeDirs(); err != nil {
		return nil, err
	}
	d := h.Dir(remote.ID)
	if err := os.MkdirAll(d.Log(), 0o700); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "create session directory: %w", err)
	}
	lock, err := filelock.Wait(ctx, d.lock())
	if err != nil {
		return nil, fmt.Errorf("adopt session '%s': %w", d.ID, err)
	}
	a := &Adopted{Dir: d, lock: lock}
	if err := a.begin(remote); err != nil {
		lock.Close() // Best effort: nothing was written to it.
		return nil, err
	}
	return a, nil
}

func (a *Adopted) begin(remote *Manifest) error {
	d := a.Dir
	if old, err := d.Load(); err == nil && old.Status.Final() && old.Status != Lost {
		return fault.Errorf(fault.NotRunning, "session '%s' is %s", old.Name, old.Ending())
	}
	socket, err := socketPath(d.Home, d.ID, os.Getenv)
	if err != nil {
		return err
	}
	a.Record = d.localRecord(remote)
	a.Record.Status, a.Record.Socket = Running, socket
	if err := d.Save(a.Record); err != nil {
		return err
	}
	return d.Home.nameAdopted(a.Record.Name, d)
}

// localRecord is a record of another machine without what has a meaning only
// there: processes and paths of theirs must not be taken for ones of ours.
func (d Dir) localRecord(remote *Manifest) *Manifest {
	m := *remote
	m.raw = nil
	m.PID, m.HostPID, m.Cgroup, m.Socket = 0, 0, "", ""
	return &m
}

// nameAdopted makes names/NAME point to d, unless it points to a newer session.
func (h Home) nameAdopted(name string, d Dir) error {
	link := filepath.Join(h.namesDir(), name)
	lock, err := h.lockNames()
	if err != nil {
		return fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	defer lock.Close() // Best effort: nothing was written.
	old, err := os.Readlink(link)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	if err == nil && filepath.Base(old) >= d.ID { // ids sort by time
		return nil
	}
	if err := relink(filepath.Join("..", "sessions", d.ID), link); err != nil {
		return fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	return nil
}

// Note writes what its host has noted of the program.
func (a *Adopted) Note(n *Noted) error {
	m := *a.Record
	m.Noted = n
	if err := a.Dir.Save(&m); err != nil {
		return err
	}
	a.Record = &m
	return nil
}

// Close writes how the session ended, and lets go.
func (a *Adopted) Close(end *Manifest) error {
	m := a.Dir.localRecord(end)
	err := a.Dir.Save(m)
	return errors.Join(err, a.Leave())
}

// Leave lets go of a session that goes on.
func (a *Adopted) Leave() error { return a.lock.Close() }
