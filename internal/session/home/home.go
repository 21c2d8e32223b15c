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
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/rpc"

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

// Registry is the advisory per-machine index of Homes that have hosted a
// session. The directories are authoritative: a stale or missing entry does no
// harm, and a damaged file counts as empty.
type Registry struct {
	Path string
}

// RegisteredHome is one entry.
type RegisteredHome struct {
	Path     string    `json:"path"`
	LastSeen time.Time `json:"last_seen"`
}

type registryFile struct {
	V     int              `json:"v"`
	Homes []RegisteredHome `json:"homes"`
}

// refresh is the age of an entry's LastSeen from which a new session updates
// the file: accurate enough for people, rare enough for fleets.
const refresh = time.Hour

// NewRegistry returns the registry of this user on this machine.
func NewRegistry(getenv func(string) string) Registry {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		state = filepath.Join(getenv("HOME"), ".local", "state")
	}
	return Registry{Path: filepath.Join(state, "den", "homes.json")}
}

// Homes returns the entries, the newest first.
func (r Registry) Homes() ([]RegisteredHome, error) {
	raw, err := atomicfile.Read(r.Path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read Home registry: %w", err)
	}
	var f registryFile
	if json.Unmarshal(raw, &f) != nil {
		return nil, nil // advisory: the next session's Home is entered anew
	}
	slices.SortStableFunc(f.Homes, func(a, b RegisteredHome) int { return b.LastSeen.Compare(a.LastSeen) })
	return f.Homes, nil
}

// Add adds a Home, or updates its entry.
func (r Registry) Add(home Home, now time.Time) error {
	homes, err := r.Homes()
	if err != nil {
		return err
	}
	for _, h := range homes {
		if h.Path == home.Path && now.Sub(h.LastSeen) < refresh {
			return nil
		}
	}
	return r.edit(func(homes []RegisteredHome) []RegisteredHome {
		homes = slices.DeleteFunc(homes, func(h RegisteredHome) bool { return h.Path == home.Path })
		return append(homes, RegisteredHome{Path: home.Path, LastSeen: now.UTC()})
	})
}

// Remove removes a Home from the registry and reports whether it was there.
// The Home itself is not touched.
func (r Registry) Remove(path string) (bool, error) {
	found := false
	err := r.edit(func(homes []RegisteredHome) []RegisteredHome {
		return slices.DeleteFunc(homes, func(h RegisteredHome) bool {
			found = found || h.Path == path
			return h.Path == path
		})
	})
	return found, err
}

func (r Registry) edit(change func([]RegisteredHome) []RegisteredHome) error {
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
		return fmt.Errorf("write Home registry: %w", err)
	}
	lock, err := filelock.Wait(context.Background(), r.Path+".lock")
	if err != nil {
		return fmt.Errorf("write Home registry: %w", err)
	}
	defer lock.Close() // Best effort: nothing was written.
	homes, err := r.Homes()
	if err != nil {
		return err
	}
	return atomicfile.WriteJSON(r.Path, registryFile{V: 1, Homes: change(homes)})
}

// maxSocketPath is the shortest limit of the systems that den runs on,
// including the terminating zero.
const maxSocketPath = 104

// socketPath returns a short path for a session's socket, whatever the length
// of the Home's path, in a directory that only this user can enter.
func socketPath(home Home, id string, getenv func(string) string) (string, error) {
	return RunPath(socketKey(home, id), getenv)
}

func socketKey(home Home, id string) string { return home.Path + "\x00" + id }

// RunPath returns a short path for the socket identified by key, in this
// user's run directory.
func RunPath(key string, getenv func(string) string) (string, error) {
	var first error
	for _, dir := range runDirs(getenv) {
		path := filepath.Join(dir, RunName(key))
		err := usableRunDir(dir, path)
		if err == nil {
			return path, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", fault.Hintf(first, "name a short directory of your own with DEN_RUN_DIR")
}

// runNameBytes is the length of a name in a run directory, before it is written
// in hexadecimal digits.
const runNameBytes = 8

// RunName is the name of key's socket in a run directory.
func RunName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:runNameBytes])
}

// runDirs lists where sockets may be, the preferred directory first.
func runDirs(getenv func(string) string) []string {
	if dir := getenv("DEN_RUN_DIR"); dir != "" {
		return []string{dir}
	}
	var dirs []string
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			dirs = append(dirs, filepath.Join(dir, "den"))
		}
	}
	return append(dirs, "/tmp/den-"+strconv.Itoa(os.Getuid()))
}

// RemoveSocket removes the socket identified by key, if its server was killed
// and left it. The path is computed: a record may have been written by somebody
// else, and would let them name any file. A socket in a run directory that this
// process's environment does not name stays.
func RemoveSocket(key string, getenv func(string) string) error {
	var errs []error
	for _, path := range leftInRunDirs(key, getenv) {
		errs = append(errs, rpc.RemoveSocket(path))
	}
	return errors.Join(errs...)
}

// leftInRunDirs lists the computed paths of key in this user's run directories.
// A directory that belongs to somebody else is not touched.
func leftInRunDirs(key string, getenv func(string) string) []string {
	var paths []string
	for _, dir := range runDirs(getenv) {
		if fi, err := os.Lstat(dir); err == nil && fi.IsDir() && isOwn(fi) {
			paths = append(paths, filepath.Join(dir, RunName(key)))
		}
	}
	return paths
}

// CheckRunPath refuses a recorded path that is not of a socket as RunPath makes
// them: in a directory that only its owner, this user, can enter. A record may
// have been written by somebody else, who must not choose the socket that den
// connects to; it only says in which of the run directories the socket is, which
// the environments of its server and of its client need not agree on. Root may
// use everybody's.
func CheckRunPath(path string) error {
	name := filepath.Base(path)
	raw, err := hex.DecodeString(name)
	fi, derr := os.Lstat(filepath.Dir(path))
	switch {
	case !filepath.IsAbs(path) || err != nil || len(raw) != runNameBytes:
		return fault.Errorf(fault.Denied, "the recorded socket %q is not one of den's", path)
	case errors.Is(derr, fs.ErrNotExist):
		return nil // nobody listens there
	case derr != nil:
		return fault.Errorf(fault.KindOf(derr), "check the directory of socket %q: %w", path, derr)
	case !fi.IsDir() || fi.Mode().Perm()&0o077 != 0 || !isOwn(fi) && os.Geteuid() != 0:
		return fault.Errorf(fault.Denied, "the recorded socket %q is not in a run directory of this user", path)
	}
	return nil
}

// isOwn reports whether the file belongs to this user.
func isOwn(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func usableRunDir(dir, path string) error {
	if len(path) >= maxSocketPath {
		return fault.Errorf(fault.Usage, "socket path %s is %d bytes long; the system's limit is %d", path, len(path), maxSocketPath-1)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "create run directory: %w", err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("inspect run directory: %w", err)
	}
	if !fi.IsDir() || !isOwn(fi) {
		return fault.Errorf(fault.Denied, "run directory %s belongs to somebody else", dir)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		// Ours, but open: an old umask. Close it.
		if err := os.Chmod(dir, 0o700); err != nil {
			return fault.Errorf(fault.Denied, "run directory %s is open to others: %w", dir, err)
		}
	}
	return nil
}
