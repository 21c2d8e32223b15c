package keeper

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/statefile"
	"den/internal/place/sandbox"
)

// LeaseMark names the environment variable of a keeper's pod in a cluster, and of
// all that runs there: the lease that the keeper must hold. The cluster starts
// that keeper, and starts it again.
const LeaseMark = "DEN_LEASE"

// StateDir is the directory in which the keeper of one workspace keeps what
// must survive it.
type StateDir struct {
	Config string // the workspace's file, absolute
	Path   string // .den beside it, or for a file of another name .den/NAME
}

// At returns the state directory for a workspace's file. The files that den
// looks for by itself share one: a den.yaml that becomes a den.toml is the same
// workspace. Any other file is a workspace of its own.
func At(config string) (StateDir, error) {
	abs, err := filepath.Abs(config)
	if err != nil {
		return StateDir{}, fault.Errorf(fault.Usage, "workspace %s: %w", config, err)
	}
	// The same workspace by another path is the same workspace.
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	dir, name := filepath.Split(abs)
	path := filepath.Join(dir, ".den")
	switch name {
	case "den.toml", "den.yaml", "den.yml":
	default:
		path = filepath.Join(path, name)
	}
	return StateDir{Config: abs, Path: path}, nil
}

// PathTag is a short name for the path of the workspace's file.
func (s StateDir) PathTag() string {
	sum := sha256.Sum256([]byte(s.Config))
	return "w" + hex.EncodeToString(sum[:8])
}

// Log is the file that takes the keeper's own words.
func (s StateDir) Log() string { return filepath.Join(s.Path, "keeper.log") }

// State is the file with what the keeper knows of its agents.
func (s StateDir) State() string { return filepath.Join(s.Path, "state.json") }

// Events is the file with what happened.
func (s StateDir) Events() string { return filepath.Join(s.Path, "events.jsonl") }

// Nudges is the directory of messages that are on their way.
func (s StateDir) Nudges() string { return filepath.Join(s.Path, "nudges") }

// Sources has what is needed to reach the state sources of running agents. It
// holds secrets.
func (s StateDir) Sources() string { return filepath.Join(s.Path, "sources") }

// Minds is the directory of what agents' harnesses keep.
func (s StateDir) Minds() string { return filepath.Join(s.Path, "minds") }

// Mind is the directory of one, by the key of its agent.
func (s StateDir) Mind(key string) string { return filepath.Join(s.Minds(), url.PathEscape(key)) }

// Chat is the directory of the keeper's own server for channels.
func (s StateDir) Chat() string { return filepath.Join(s.Path, "chat") }

// Decisive is the list of the files that decide what runs, for those who decide
// what agents may change.
func (s StateDir) Decisive() string { return filepath.Join(s.Path, "decisive.json") }

// ChatHistory is the log of what was said in them.
func (s StateDir) ChatHistory() string { return filepath.Join(s.Chat(), "history") }

func (s StateDir) record() string { return filepath.Join(s.Path, "keeper.json") }

// Make creates the directory. One that somebody else prepared is refused.
func (s StateDir) Make() error {
	if err := s.checkOwn(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Path, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "make the keeper's directory: %w", err)
	}
	// What a keeper writes is not the project's.
	ignore := filepath.Join(s.Path, ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return fault.Errorf(fault.KindOf(err), "make the keeper's directory: %w", err)
		}
	}
	return nil
}

func (s StateDir) lock() string { return filepath.Join(s.Path, "keeper.lock") }

// Lock makes this process the keeper of the state directory until the file is
// closed. A directory that has one is fault.Busy.
func (s StateDir) Lock() (*os.File, error) {
	f, err := filelock.Try(s.lock())
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fault.Hintf(fault.Errorf(fault.Busy, "workspace %s has a keeper already", s.Config), "'den ps' shows what it keeps")
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "lock the workspace: %w", err)
	}
	return f, nil
}

// Owns returns why a keeper that holds lock is not the state directory's any
// more: somebody removed or moved it. nil means that it still is.
func (s StateDir) Owns(lock *os.File) error {
	here, err := os.Stat(s.lock())
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.NotFound, "the keeper's lock file %s was removed or moved away", s.lock())
	}
	if err != nil {
		return nil // could not ask: no reason to end
	}
	held, err := lock.Stat()
	if err != nil || os.SameFile(here, held) {
		return nil
	}
	return fault.Errorf(fault.NotFound, "the keeper's lock file %s was replaced by another", s.lock())
}

// Record is what a keeper tells about itself on disk.
type Record struct {
	V       int       `json:"v"`
	PID     int       `json:"pid"`
	Den     string    `json:"den"`
	Socket  string    `json:"socket"`
	File    string    `json:"file,omitempty"` // the name of the workspace's file
	Started time.Time `json:"started"`
}

const recordVersion = 1

// Save writes the record.
func (s StateDir) Save(r Record) error {
	return statefile.Replace(s.record(), recordVersion, r)
}

// Load reads the record. A workspace that never had a keeper is NotRunning.
func (s StateDir) Load() (Record, error) {
	raw, err := readOwn(s.record())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && os.Getenv(sandbox.InsideEnv) != "" {
		return Record{}, noKeeper(s)
	}
	if err != nil {
		return Record{}, fault.Errorf(fault.KindOf(err), "read the keeper's record: %w", err)
	}
	return statefile.Decode[Record](fmt.Sprintf("the record of the keeper of %s", s.Config), raw, recordVersion)
}

func noKeeper(s StateDir) error {
	if agent := os.Getenv(sandbox.InsideEnv); agent != "" {
		return fault.Hintf(fault.Errorf(fault.NotRunning, "the keeper of %s is not seen here: the sandbox of agent '%s' hides it", s.Config, agent), "ask outside of the sandbox")
	}
	return fault.Hintf(fault.Errorf(fault.NotRunning, "no keeper runs for %s", s.Config), "'den up' starts one")
}
