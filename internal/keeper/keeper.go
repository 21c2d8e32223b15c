// Package keeper is how the command line and a workspace's keeper meet: the
// keeper's place on disk, its lock, and the messages on its socket.
package keeper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/atomicfile"
	"den/internal/fault"
	"den/internal/filelock"
	"den/internal/home"
)

// Place is where the keeper of one workspace keeps what must survive it.
type Place struct {
	Config string // the workspace's file, absolute
	Dir    string // .den beside it
}

// At returns the place for a workspace's file.
func At(config string) (Place, error) {
	abs, err := filepath.Abs(config)
	if err != nil {
		return Place{}, fault.Errorf(fault.Usage, "workspace %s: %w", config, err)
	}
	// The same workspace by another path is the same workspace.
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	return Place{Config: abs, Dir: filepath.Join(filepath.Dir(abs), ".den")}, nil
}

// Owner is the tag of this workspace's sessions: it belongs to the place, so
// that two workspaces of one name never touch each other's agents.
func (p Place) Owner() string {
	sum := sha256.Sum256([]byte(p.Config))
	return "w" + hex.EncodeToString(sum[:8])
}

// Log is the file that takes the keeper's own words.
func (p Place) Log() string { return filepath.Join(p.Dir, "keeper.log") }

// State is the file with what the keeper knows of its agents.
func (p Place) State() string { return filepath.Join(p.Dir, "state.json") }

// Events is the file with what happened.
func (p Place) Events() string { return filepath.Join(p.Dir, "events.jsonl") }

// Nudges is the directory of messages that are on their way.
func (p Place) Nudges() string { return filepath.Join(p.Dir, "nudges") }

// Sessions is the directory of sessions without a terminal.
func (p Place) Sessions() string { return filepath.Join(p.Dir, "subprocess") }

func (p Place) record() string { return filepath.Join(p.Dir, "keeper.json") }

// Make creates the directory.
func (p Place) Make() error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "make the keeper's directory: %w", err)
	}
	// What a keeper writes is not the project's.
	ignore := filepath.Join(p.Dir, ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return fault.Errorf(fault.KindOf(err), "make the keeper's directory: %w", err)
		}
	}
	return nil
}

// Socket is the path of the keeper's socket: short, whatever the workspace's.
func (p Place) Socket(getenv func(string) string) (string, error) {
	return home.RunPath("keeper\x00"+p.Config, getenv)
}

// Lock makes this process the workspace's keeper until the file is closed. A
// workspace that has one is fault.Busy.
func (p Place) Lock() (*os.File, error) {
	f, err := filelock.Try(filepath.Join(p.Dir, "keeper.lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fault.Hintf(fault.Errorf(fault.Busy, "workspace %s has a keeper already", p.Config), "'den ps' shows what it keeps")
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "lock the workspace: %w", err)
	}
	return f, nil
}

// Record is what a keeper tells about itself on disk.
type Record struct {
	V       int       `json:"v"`
	PID     int       `json:"pid"`
	Den     string    `json:"den"`
	Socket  string    `json:"socket"`
	Started time.Time `json:"started"`
}

const recordVersion = 1

// Save writes the record.
func (p Place) Save(r Record) error {
	r.V = recordVersion
	return atomicfile.ReplaceJSON(p.record(), r)
}

// Load reads the record. A workspace that never had a keeper is NotRunning.
func (p Place) Load() (Record, error) {
	var r Record
	raw, err := os.ReadFile(p.record())
	if errors.Is(err, fs.ErrNotExist) {
		return r, noKeeper(p)
	}
	if err != nil {
		return r, fault.Errorf(fault.Storage, "read the keeper's record: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fault.Errorf(fault.Storage, "read the keeper's record: %w", err)
	}
	if r.V > recordVersion {
		return r, fault.Errorf(fault.Protocol, "the keeper of %s is newer than this den: record version %d, this one knows %d", p.Config, r.V, recordVersion)
	}
	return r, nil
}

func noKeeper(p Place) error {
	return fault.Hintf(fault.Errorf(fault.NotRunning, "no keeper runs for %s", p.Config), "'den up' starts one")
}
