package keeper

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/statefile"
	"den/internal/session/home"
)

// Identity is who a workspace is, whatever its path and its callers'
// environments are. It is made once, when the workspace is first kept, and
// stands in the state directory.
type Identity struct {
	V          int       `json:"v"`
	ID         string    `json:"id"`   // the owner of its sessions
	Home       string    `json:"home"` // where they are
	TmuxSocket string    `json:"tmux_socket"`
	Created    time.Time `json:"created"`
}

// Registration is what a Home knows about a workspace whose sessions it holds.
// It finds a workspace again that has lost its state directory, and tells a
// moved workspace from a copied one.
type Registration struct {
	Identity
	StateDir  string   `json:"state_dir"`           // where the workspace was last
	Mark      string   `json:"mark,omitempty"`      // of the state directory: see dirMark
	Name      string   `json:"name,omitempty"`      // while its file gives none: that of the directory in which it was first kept
	Providers []string `json:"providers,omitempty"` // in which it may have sessions
	Ended     string   `json:"ended,omitempty"`     // why a keeper ended that could not write it into its state directory
}

const identityVersion = 1

// Dir is the workspace's directory in its Home.
func (i Identity) Dir() string { return filepath.Join(i.Home, "workspaces", i.ID) }

// Worktrees is the directory of the agents' git worktrees: in the Home, so that
// they are not lost with a state directory, and not below another working tree,
// whose configuration programs would find.
func (i Identity) Worktrees() string { return filepath.Join(i.Dir(), "worktrees") }

// Sandbox is the directory of an agent's own in which its sandbox is made.
func (i Identity) Sandbox(key string) string {
	return filepath.Join(i.Dir(), "sandbox", url.PathEscape(key))
}

// Socket is the path of the keeper's socket: short, whatever the workspace's.
func (i Identity) Socket(getenv func(string) string) (string, error) {
	return home.RunPath(i.socketKey(), getenv)
}

func (i Identity) socketKey() string { return "keeper\x00" + i.ID }

// Lock makes this process the only keeper of the workspace, wherever its state
// directory is, until the file is closed.
func (i Identity) Lock() (*os.File, error) {
	f, err := filelock.Try(filepath.Join(i.Dir(), "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fault.Hintf(fault.Errorf(fault.Busy, "workspace %s has a keeper already", i.ID), "it ends by itself if its state directory was removed or moved")
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "lock the workspace: %w", err)
	}
	return f, nil
}

// Save writes the registration.
func (r Registration) Save() error {
	if err := os.MkdirAll(r.Dir(), 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "register the workspace: %w", err)
	}
	return atomicfile.WriteJSON(filepath.Join(r.Dir(), identityFile), r)
}

// identityFile is the name of the identity's file in a state directory, and of
// the registration's in a Home.
const identityFile = "workspace.json"

// Caller is who asks: its Home is that of a workspace that was never kept.
type Caller struct {
	Home   home.Home
	Getenv func(string) string
	ID     string // of a workspace that was never kept, or "" for a new one; see DerivedID
}

// homes lists where registrations may be: in the caller's Home, and in every
// other Home of this user. A Home of another user has none that counts.
func (c Caller) homes() []string {
	homes := []string{c.Home.Path}
	others, _ := home.NewRegistry(c.Getenv).Homes() // Best effort: the registry is advisory.
	for _, h := range others {
		if h.Path != c.Home.Path {
			homes = append(homes, h.Path)
		}
	}
	return slices.DeleteFunc(homes, func(path string) bool { return home.Home{Path: path}.CheckOwner() != nil })
}

// Identify tells who the workspace is: fault.NotFound where it was never kept.
// It changes nothing.
func (s StateDir) Identify(c Caller) (Registration, error) {
	homes := c.homes()
	own, err := readIdentity(s.Path)
	switch {
	case err == nil && (slices.Contains(homes, own.Home) || s.isMarked(own)):
		r, err := s.registrationOf(own)
		if fault.KindOf(err) != fault.NotFound {
			return r, err
		}
	case err != nil && fault.KindOf(err) != fault.NotFound:
		return Registration{}, err
	}
	for _, h := range homes {
		if r, err := s.registeredIn(h); err != nil || r.ID != "" {
			return r, err
		}
	}
	return Registration{}, fault.Hintf(fault.Errorf(fault.NotFound, "workspace %s was never up", s.Config), "'den up' starts its agents")
}

// isMarked reports whether the Home that an identity names knows this very state
// directory. Then it counts whatever the caller's Homes are: cron and a login
// shell have other environments. Whoever plants an identity and a Home beside it
// cannot know the mark.
func (s StateDir) isMarked(own Identity) bool {
	var r Registration
	if !filepath.IsAbs(own.Home) || (home.Home{Path: own.Home}).CheckOwner() != nil {
		return false
	}
	err := readJSON(filepath.Join(own.Dir(), identityFile), &r)
	return err == nil && r.ID == own.ID && r.Home == own.Home && r.Mark != "" && r.Mark == dirMark(s.Path)
}

// dirMark tells a directory from every other one and from its copies: by its
// inode and by when it was made. It is "" where the file system does not tell
// that.
func dirMark(path string) string {
	fi, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	born := birth(path)
	if !ok || born.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d-%d", st.Ino, born.UnixNano())
}

// registrationOf returns the registration of the identity that stands in the
// state directory: fault.NotFound if its Home does not know it, because it came
// from another machine, or if the directory is a copy of one that is still where
// it was.
func (s StateDir) registrationOf(own Identity) (r Registration, err error) {
	err = readJSON(filepath.Join(own.Dir(), identityFile), &r)
	if err != nil || r.StateDir == s.Path {
		return r, err
	}
	other, err := readIdentity(r.StateDir)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return r, nil // moved
	case err != nil:
		return r, err
	case other.ID == own.ID && !sameFile(s.Path, r.StateDir):
		return r, fault.Errorf(fault.NotFound, "%s is a copy of %s", s.Path, r.StateDir)
	}
	return r, nil
}

// registrations lists the files of those in a Home. One whose path looks like a
// pattern has none.
func registrations(root string) []string {
	files, _ := filepath.Glob(filepath.Join(root, "workspaces", "*", identityFile)) // Best effort, as above.
	return files
}

// registeredIn looks for the workspace in a Home by its place. A zero
// Registration means that it is not there.
func (s StateDir) registeredIn(root string) (Registration, error) {
	var newest Registration
	for _, file := range registrations(root) {
		var r Registration
		switch err := readJSON(file, &r); {
		case fault.KindOf(err) == fault.NotFound: // removed meanwhile
		case err != nil:
			return Registration{}, err
		case r.StateDir == s.Path && r.Created.After(newest.Created):
			newest = r
		}
	}
	return newest, nil
}

// register makes a registration. Nothing is written.
func (s StateDir) register(id, tmuxKey string, c Caller) (Registration, error) {
	socket, err := home.RunPath("tmux\x00"+tmuxKey, c.Getenv)
	if err != nil {
		return Registration{}, err
	}
	return Registration{
		Identity: Identity{V: identityVersion, ID: id, Home: c.Home.Path, TmuxSocket: socket, Created: time.Now().UTC()},
		StateDir: s.Path,
	}, nil
}

// Establish makes the workspace's identity, or finds it again, and writes what
// is missing of it. The caller holds the state directory's lock.
func (s StateDir) Establish(c Caller) (Registration, error) {
	r, err := s.Identify(c)
	if fault.KindOf(err) == fault.NotFound {
		if err := c.Home.CheckOwner(); err != nil {
			return r, err // it would be registered there
		}
		if err := s.discardState(); err != nil {
			return r, err
		}
		id := cmp.Or(c.ID, newID())
		r, err = s.register(id, id, c)
	}
	if err != nil {
		return r, err
	}
	r.StateDir, r.Mark = s.Path, dirMark(s.Path)
	// The Home first: an identity without a registration could be copied
	// unnoticed.
	var was Registration
	if err := readJSON(filepath.Join(r.Dir(), identityFile), &was); err != nil || was.StateDir != r.StateDir || was.Mark != r.Mark {
		if err := r.Save(); err != nil {
			return r, err
		}
	}
	// Best effort: the registry is advisory. It helps to find lost state
	// directories of workspaces whose Home is not the caller's.
	_ = home.NewRegistry(c.Getenv).Add(home.Home{Path: r.Home}, time.Now())
	return r, s.restore(r.Identity)
}

// restore writes the identity into the state directory if it is not there.
func (s StateDir) restore(i Identity) error {
	if there, err := readIdentity(s.Path); err == nil && there.ID == i.ID {
		return nil
	}
	return atomicfile.WriteJSON(filepath.Join(s.Path, identityFile), i)
}

// discardState removes the state of a workspace that nobody on this machine has
// kept: nudges that are on their way, orders, events. It was copied, or it came
// with a repository and could say anything.
func (s StateDir) discardState() error {
	for _, path := range s.stateFiles() {
		if err := os.RemoveAll(path); err != nil {
			return fault.Errorf(fault.KindOf(err), "discard the state of a workspace that was not kept here: %w", err)
		}
	}
	return nil
}

// stateFiles lists what a keeper would use.
func (s StateDir) stateFiles() []string {
	return []string{
		s.State(), s.Events(), s.Events() + ".1", s.Nudges(), s.Sources(), s.Harnesses(), s.Chat(), s.Decisive(), s.OldSessions(), s.record(),
		filepath.Join(s.Path, identityFile),
	}
}

// OldSessions is where sessions without a terminal were kept before they moved
// to the Home.
func (s StateDir) OldSessions() string { return filepath.Join(s.Path, "subprocess") }

func newID() string {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return "w" + hex.EncodeToString(random[:])
}

// DerivedID is the id of a workspace that has one whatever becomes of its files:
// the same words give the same id.
func DerivedID(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return "w" + hex.EncodeToString(sum[:8])
}

// isID reports whether id is one of newID's: it becomes part of a path.
func isID(id string) bool {
	digits, ok := strings.CutPrefix(id, "w")
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == 8
}

func readIdentity(dir string) (i Identity, err error) {
	err = readJSON(filepath.Join(dir, identityFile), &i)
	if err == nil && !isID(i.ID) {
		err = fault.Hintf(fault.Errorf(fault.Storage, "read the workspace's identity: %s: %w: %q is no id", filepath.Join(dir, identityFile), statefile.ErrDamaged, i.ID), "remove it: the workspace is found again by its other copy")
	}
	return i, err
}

// readJSON reads an identity or a registration: fault.NotFound for none.
func readJSON[T any](path string, v *T) error {
	raw, err := readOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.NotFound, "read the workspace's identity: %w", err)
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "read the workspace's identity: %w", err)
	}
	if *v, err = statefile.Decode[T](path, raw, identityVersion); err != nil {
		return statefile.Advise(fmt.Errorf("read the workspace's identity: %w", err), "remove it: the workspace is found again by its other copy")
	}
	return nil
}

func sameFile(a, b string) bool {
	fa, aerr := os.Stat(a)
	fb, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(fa, fb)
}

// Kept lists the workspaces of this user that have a keeper now, in all Homes.
// What cannot be read is left out: it has no keeper that could be asked.
func Kept(c Caller) []StateDir {
	var all []StateDir
	for _, root := range c.homes() {
		for _, file := range registrations(root) {
			var r Registration
			if readJSON(file, &r) != nil || !filepath.IsAbs(r.StateDir) {
				continue
			}
			if s, ok := keptAt(r.StateDir); ok && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// keptAt returns the workspace of a state directory, if it has a keeper now.
func keptAt(path string) (StateDir, bool) {
	s := StateDir{Path: path}
	if held, err := filelock.Held(s.lock()); err != nil || !held {
		return s, false
	}
	r, err := s.Load()
	if err != nil || r.File == "" || r.File != filepath.Base(r.File) {
		return s, false // of an older den: its file is not known
	}
	end := strings.LastIndex(path+"/", "/.den/")
	if end < 0 {
		return s, false
	}
	s.Config = filepath.Join(path[:end], r.File)
	at, err := At(s.Config)
	return s, err == nil && at.Path == path
}
