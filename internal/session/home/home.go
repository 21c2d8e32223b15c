// Package home manages the directories of sessions: records and their statuses,
// names, the registry of Homes, and garbage collection.
//
// A Home is laid out as
//
//	sessions/ID/session.json   the record, replaced atomically
//	sessions/ID/lock           held by the host for as long as it runs
//	sessions/ID/log/           the event log
//	sessions/ID/artifacts/     files written by snapshots and exports
//	sessions/ID/host.log       the host's own messages, usually empty
//	names/NAME                 a link to the newest session of that name
//
// Whether a session is alive is decided by its lock, never by a PID. Readers
// need no write access to a Home.
package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"den/internal/base/fault"
	"den/internal/base/ident"

	"golang.org/x/sys/unix"
)

// Home is a state root.
type Home struct {
	Path string // absolute
	// Explicit is set if the user named it, by flag or DEN_HOME.
	Explicit bool
}

// ResolveHome returns the Home: the flag, else DEN_HOME, else ~/.den.
func ResolveHome(flag string, getenv func(string) string) (Home, error) {
	path, explicit := flag, true
	if path == "" {
		path = getenv("DEN_HOME")
	}
	if path == "" {
		user := getenv("HOME")
		if user == "" {
			return Home{}, fault.Hintf(fault.Errorf(fault.Usage, "no Home: HOME is not set"), "give one with --home DIR or DEN_HOME")
		}
		path, explicit = filepath.Join(user, ".den"), false
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return Home{}, fmt.Errorf("resolve Home %q: %w", path, err)
	}
	return Home{Path: abs, Explicit: explicit}, nil
}

func (h Home) sessionsDir() string { return filepath.Join(h.Path, "sessions") }
func (h Home) namesDir() string    { return filepath.Join(h.Path, "names") }

// PageActions is the audit log of what was done on pages of the dashboard.
func (h Home) PageActions() string { return filepath.Join(h.Path, "page-actions.jsonl") }

// Dir returns the directory of the session with this id.
func (h Home) Dir(id string) Dir {
	return Dir{Path: filepath.Join(h.sessionsDir(), id), ID: id, Home: h}
}

// Find resolves the name or id of a session.
func (h Home) Find(ref string) (Dir, error) {
	if ident.IsID(ref) {
		if d := h.Dir(ref); d.exists() {
			return d, nil
		}
	}
	if err := ident.Check("session", ref); err != nil {
		return Dir{}, err
	}
	target, err := os.Readlink(filepath.Join(h.namesDir(), ref))
	if err == nil {
		if d := h.Dir(filepath.Base(target)); d.exists() {
			return d, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Dir{}, fault.Errorf(unreadable(err), "look up session '%s': %w", ref, err)
	}
	return Dir{}, fault.Hintf(fault.Errorf(fault.NotFound, "no session '%s'", ref), "'den ls --all' lists the sessions of %s", h.Path)
}

// All returns the directories of all sessions, oldest first.
func (h Home) All() ([]Dir, error) {
	entries, err := os.ReadDir(h.sessionsDir()) // sorted; ids sort by time
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(unreadable(err), "list sessions: %w", err)
	}
	var dirs []Dir
	for _, e := range entries {
		// One without a record is being made, or was when its maker died.
		if d := h.Dir(e.Name()); e.IsDir() && ident.IsID(e.Name()) && d.hasRecord() {
			dirs = append(dirs, d)
		}
	}
	return dirs, nil
}

// unreadable is the kind of an error of reading a Home.
func unreadable(err error) fault.Kind {
	if kind := fault.KindOf(err); kind != fault.Internal {
		return kind
	}
	return fault.Storage
}

// Only returns the only active session of the Home.
func (h Home) Only() (Dir, error) {
	all, err := h.All()
	if err != nil {
		return Dir{}, err
	}
	var found []Dir
	for _, d := range all {
		if m, err := d.Inspect(); err == nil && m.Status.Active() {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Dir{}, fault.Hintf(fault.Errorf(fault.NotFound, "no session is active in %s", h.Path), "start one with 'den new NAME'")
	}
	return Dir{}, fault.Hintf(fault.Errorf(fault.Usage, "%d sessions are active in %s", len(found), h.Path), "name one of them; 'den ls' lists them")
}

// CheckReadable refuses what cannot be a Home of anybody's, and one that this
// user may not enter. One that does not exist yet is fine.
func (h Home) CheckReadable() error {
	fi, err := os.Stat(h.Path)
	if err == nil && fi.IsDir() {
		err = unix.Access(h.Path, unix.X_OK)
	}
	hint := "choose a directory of your own with --home DIR or DEN_HOME"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fault.Hintf(fault.Errorf(fault.Denied, "Home %s belongs to another user, or is closed", h.Path), "%s", hint)
	case err == nil && !fi.IsDir(), errors.Is(err, syscall.ENOTDIR):
		return fault.Hintf(fault.Errorf(fault.Storage, "Home %s is not a directory", h.Path), "%s", hint)
	case err != nil:
		return fault.Errorf(fault.KindOf(err), "check Home %s: %w", h.Path, err)
	}
	return nil
}

// CheckOwner refuses a Home that another user made, or may write to: den would
// trust what is in it. One that does not exist yet is fine.
func (h Home) CheckOwner() error {
	fi, err := os.Stat(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "check Home %s: %w", h.Path, err)
	}
	if !isOwn(fi) {
		return fault.Hintf(fault.Errorf(fault.Denied, "Home %s belongs to another user", h.Path), "choose a directory of your own with --home DIR or DEN_HOME")
	}
	if fi.Mode().Perm()&0o002 != 0 {
		return fault.Hintf(fault.Errorf(fault.Denied, "every user may write to Home %s", h.Path), "close it with 'chmod 700 %s'", h.Path)
	}
	return nil
}

// makeDirs creates the directories of a Home, inaccessible to other users.
func (h Home) makeDirs() error {
	if err := h.CheckOwner(); err != nil {
		return err
	}
	for _, dir := range []string{h.Path, h.sessionsDir(), h.namesDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fault.Hintf(fault.Errorf(fault.KindOf(err), "create Home %s: %w", h.Path, err), "choose a directory that you may write to with --home DIR or DEN_HOME")
		}
	}
	return nil
}
