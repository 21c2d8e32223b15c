package keeper

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/statefile"
	"den/internal/place/sandbox"
	"den/internal/process/git"
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

// Harnesses is the directory of what agents' harnesses keep.
func (s StateDir) Harnesses() string { return filepath.Join(s.Path, "minds") }

// Harness is the directory of one, by the key of its agent.
func (s StateDir) Harness(key string) string {
	return filepath.Join(s.Harnesses(), url.PathEscape(key))
}

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

// checkOwn refuses a state directory that somebody else prepared: one with a
// link in it, through which den would write elsewhere, or with another user's
// files. A missing one is fine.
func (s StateDir) checkOwn() error {
	for _, dir := range []string{filepath.Join(filepath.Dir(s.Config), ".den"), s.Path} {
		if err := checkEntry(dir, fs.ModeDir); err != nil {
			return err
		}
	}
	return checkBelow(s.Path)
}

// checkBelow checks what is in the directory.
func checkBelow(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile, or there is no state directory
		case err != nil:
			return fault.Errorf(fault.KindOf(err), "check the keeper's directory: %w", err)
		case path == dir:
			return nil
		}
		return checkEntry(path, e.Type())
	})
}

// checkEntry refuses a file that is a link, is not of the type wanted, or
// belongs to another user.
func checkEntry(path string, want fs.FileMode) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "check the keeper's directory: %w", err)
	}
	hint := "remove it if you do not know it: 'den up' makes what it needs"
	switch st, ok := fi.Sys().(*syscall.Stat_t); {
	case fi.Mode().Type() == fs.ModeSymlink:
		return fault.Hintf(fault.Errorf(fault.Denied, "%s is a symbolic link", path), "%s", hint)
	case fi.Mode().Type() != want.Type():
		return fault.Hintf(fault.Errorf(fault.Denied, "%s is a %s", path, fi.Mode().Type()), "%s", hint)
	case ok && int(st.Uid) != os.Geteuid():
		return fault.Hintf(fault.Errorf(fault.Denied, "%s belongs to user %d", path, st.Uid), "%s", hint)
	}
	return nil
}

// maxStateFile bounds the files that are read whole from a state directory.
const maxStateFile = 1 << 20

// readOwn reads a small file of this user. It follows no link and never blocks.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fault.Errorf(fault.Denied, "%s is a symbolic link", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // Best effort: it was only read.
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch me := os.Geteuid(); {
	case !fi.Mode().IsRegular() || fi.Size() > maxStateFile:
		return nil, fault.Errorf(fault.Storage, "%s is not a file of at most %d bytes", path, maxStateFile)
	case ok && int(st.Uid) != me && st.Uid != 0:
		return nil, fault.Errorf(fault.Denied, "%s belongs to user %d", path, st.Uid)
	}
	raw := make([]byte, fi.Size())
	n, err := f.ReadAt(raw, 0)
	if n < len(raw) {
		return nil, fault.Errorf(fault.Storage, "read %s: %w", path, err)
	}
	return raw, nil
}

// Foreign tells why the workspace may have been made by somebody else: nobody
// on this machine has kept it, and its file belongs to another user, came with a
// repository or is older than its place, or its state directory came along. It
// is empty for a file that this user wrote here.
func (s StateDir) Foreign(c Caller) (why string, err error) {
	if _, err := s.Identify(c); fault.KindOf(err) != fault.NotFound {
		return "", err
	}
	fi, err := os.Stat(s.Config)
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "check the workspace's file: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("%s belongs to user %d", s.Config, st.Uid), nil
	case s.hasState():
		return fmt.Sprintf("%s was not made on this machine", s.Path), nil
	case isUnpacked(s.Config, fi.ModTime()):
		return fmt.Sprintf("%s was unpacked or copied from elsewhere: it is older than its place here", s.Config), nil
	}
	tracked, err := git.Tracked(s.Config)
	switch {
	case err != nil:
		return fmt.Sprintf("%s may have come with the git repository around it: %v", s.Config, err), nil
	case tracked:
		return fmt.Sprintf("%s came with a git repository", s.Config), nil
	}
	if system := trackedByOther(s.Config); system != "" {
		return fmt.Sprintf("%s came with a %s repository", s.Config, system), nil
	}
	return "", nil
}

// unpackedSlack is how much older than its place a file may be that was written
// there: not every program and file system keeps times to the second.
const unpackedSlack = time.Minute

// isUnpacked reports whether a file was last changed before it came into being
// where it is. Archives and copies that keep times are known by that.
func isUnpacked(file string, changed time.Time) bool {
	born := birth(file)
	return !born.IsZero() && changed.Before(born.Add(-unpackedSlack))
}

// hasState reports whether there is anything that a keeper would use.
func (s StateDir) hasState() bool {
	return slices.ContainsFunc(s.stateFiles(), func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	})
}

// maxList bounds how much of a list is searched.
const maxList = 64 << 20

// readList reads as much of a list as is searched. It never blocks.
func readList(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // Best effort: it was only read.
	return io.ReadAll(io.LimitReader(f, maxList))
}

// otherSystems are where other systems than git list the files of a checkout,
// below its top.
var otherSystems = []struct{ name, lists string }{
	{"Mercurial", ".hg/dirstate*"},
	{"Subversion", ".svn/wc.db*"},
	{"Jujutsu", ".jj/working_copy/tree_state"},
	{"Fossil", ".fslckout"},
}

// trackedByOther names the system, other than git, whose checkout around a file
// has its path. The lists are only searched.
func trackedByOther(file string) string {
	for top := filepath.Dir(file); ; top = filepath.Dir(top) {
		rel, err := filepath.Rel(top, file)
		if err != nil {
			return ""
		}
		for _, system := range otherSystems {
			lists, _ := filepath.Glob(filepath.Join(top, system.lists)) // Best effort: a path that looks like a pattern
			for _, list := range lists {
				if tracked, err := readList(list); err == nil && bytes.Contains(tracked, []byte(filepath.ToSlash(rel))) {
					return system.name
				}
			}
		}
		if top == filepath.Dir(top) {
			return ""
		}
	}
}
