package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/rpc"
	"den/internal/process/tree"
)

// Spec is what a user asks of a new session.
type Spec struct {
	Name        string
	Unnamed     bool // no Name: it has its ID for one
	Command     []string
	Cwd         string
	Env         []string // the program's whole environment
	Term        string
	Cols, Rows  int
	Labels      map[string]string
	Prompt      string
	Marks       string // MarksOff, or ""
	RecordInput string
	LogLimit    int64
	SyncAlways  bool // sync the log at every pass, not only when it must be

	// Files are put into the session's directory before it is started, by name.
	Files map[string][]byte
	// Sockets is a directory of this user's alone that a host elsewhere sees
	// too, for the sockets that find no room in the session's own; or "": a run
	// directory, which the place then must share. For CreateElsewhere alone.
	Sockets string
}

// MarksOff is the value of marks with which nothing is typed unasked into shells
// inside the session's program.
const MarksOff = "off"

// The values of record_input.
const (
	RecordAuto = "auto" // not while the terminal's echo is off
	RecordAll  = "all"
	RecordNone = "none"
)

// Bootstrap is the message that a starting host reads from stdin. The
// environment is passed this way because command lines are public.
type Bootstrap struct {
	V          int      `json:"v"`
	Home       Home     `json:"home"`
	ID         string   `json:"id"`
	Env        []string `json:"env"`
	SyncAlways bool     `json:"sync_always,omitempty"`
	// Inherit adds Env to the host's own environment instead of replacing it.
	Inherit bool `json:"inherit,omitempty"`
	// HostPID is the host's PID outside its container, if it runs in one.
	HostPID int `json:"host_pid,omitempty"`
}

// BootstrapVersion is the version of Bootstrap and Ready. Both ends are
// usually the same binary, but den may be upgraded in between.
const BootstrapVersion = 1

// Ready is the message that a host writes when it serves, or cannot start.
type Ready struct {
	Error *rpc.Error `json:"error,omitempty"`
}

// LockFD is the descriptor on which a host inherits its session's lock.
const LockFD = 3

// Create creates a session and starts its host with the given den binary. It
// returns when the session accepts commands. On error nothing is left behind.
func (h Home) Create(ctx context.Context, spec Spec, binary string) (Dir, *Manifest, error) {
	return h.create(spec, socketPath, func(d Dir, _ string, boot Bootstrap, lock *os.File) error {
		return d.launch(ctx, cmp.Or(spec.Name, d.ID), binary, boot, lock)
	})
}

// create creates a session. launch starts the host, and place returns the path
// of its socket.
func (h Home) create(
	spec Spec,
	place func(home Home, id string, getenv func(string) string) (string, error),
	launch func(d Dir, socket string, boot Bootstrap, lock *os.File) error,
) (Dir, *Manifest, error) {
	now := time.Now()
	d := h.Dir(ident.New(now))
	if spec.Unnamed {
		spec.Name = d.ID
	}
	if err := ident.Check("session", spec.Name); err != nil {
		return Dir{}, nil, err
	}
	if err := h.makeDirs(); err != nil {
		return Dir{}, nil, err
	}
	socket, err := place(h, d.ID, os.Getenv)
	if err != nil {
		return Dir{}, nil, err
	}
	lock, err := d.prepare(&Manifest{
		ID: d.ID, Name: spec.Name, Status: Starting,
		Command: spec.Command, Cwd: spec.Cwd, Term: spec.Term, Cols: spec.Cols, Rows: spec.Rows,
		Created: now.UTC().Round(0), Labels: spec.Labels, Prompt: spec.Prompt, Marks: spec.Marks,
		RecordInput: spec.RecordInput, LogLimit: spec.LogLimit, Socket: socket,
	}, spec.Files)
	if err != nil {
		return Dir{}, nil, errors.Join(err, os.RemoveAll(d.Path))
	}
	defer lock.Close()
	mark, err := d.Mark()
	if err != nil {
		return Dir{}, nil, errors.Join(err, os.RemoveAll(d.Path))
	}
	undo, before, err := h.claimName(spec.Name, d)
	if err != nil {
		return Dir{}, nil, errors.Join(err, os.RemoveAll(d.Path))
	}
	if err := before.sweepLost(); err != nil {
		undo()
		return Dir{}, nil, errors.Join(err, os.RemoveAll(d.Path))
	}
	env := append(slices.Clone(spec.Env), "DEN_SESSION="+spec.Name, ProgramMark+"="+d.ID, SessionMark+"="+mark)
	boot := Bootstrap{V: BootstrapVersion, Home: h, ID: d.ID, Env: env, SyncAlways: spec.SyncAlways}
	if err := launch(d, socket, boot, lock); err != nil {
		undo()
		// A host that was killed may have started its program.
		_, serr := d.Sweep()
		return Dir{}, nil, errors.Join(err, serr, os.RemoveAll(d.Path))
	}
	m, err := d.Load()
	if err != nil {
		return Dir{}, nil, err
	}
	return d, m, nil
}

// prepare makes the directory, its files, its lock and its first record, in
// this order: a record without a held lock would look lost to others.
func (d Dir) prepare(m *Manifest, files map[string][]byte) (*os.File, error) {
	for _, dir := range []string{d.Path, d.Log()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "create session directory: %w", err)
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(d.Path, name), data, 0o600); err != nil {
			return nil, fault.Errorf(fault.Storage, "create session directory: %w", err)
		}
	}
	lock, err := filelock.Try(d.lock())
	if err != nil {
		return nil, fmt.Errorf("create session directory: %w", err)
	}
	if err := d.Save(m); err != nil {
		lock.Close() // Best effort: the directory goes.
		return nil, err
	}
	return lock, nil
}

// lockNames locks the names until the returned file is closed.
func (h Home) lockNames() (*os.File, error) {
	return filelock.Wait(context.Background(), filepath.Join(h.namesDir(), ".lock"))
}

// claimName makes names/NAME point to d, unless an active session has the
// name. The returned func restores the previous link; before is the session that
// had the name, or zero.
func (h Home) claimName(name string, d Dir) (undo func(), before Dir, err error) {
	link := filepath.Join(h.namesDir(), name)
	lock, err := h.lockNames()
	if err != nil {
		return nil, Dir{}, fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	defer lock.Close() // Best effort: nothing was written.
	old, err := os.Readlink(link)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Dir{}, fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	if err == nil {
		before = h.Dir(filepath.Base(old))
		if m, err := before.Inspect(); err == nil && m.Status.Active() {
			return nil, Dir{}, fault.Hintf(fault.Errorf(fault.Busy, "session '%s' is %s already", name, m.Status), "choose another name, or end it with 'den kill %s'", name)
		}
	}
	if err := relink(filepath.Join("..", "sessions", d.ID), link); err != nil {
		return nil, Dir{}, fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	return func() {
		lock, err := h.lockNames()
		if err != nil {
			return // Best effort: a link to nothing is as good as none.
		}
		defer lock.Close() // Best effort, as above.
		if now, err := os.Readlink(link); err != nil || filepath.Base(now) != d.ID {
			return // taken over by a later session
		}
		if old == "" {
			os.Remove(link) // Best effort, as above.
			return
		}
		_ = relink(old, link) // Best effort, as above.
	}, before, nil
}

func relink(target, link string) error {
	tmp := filepath.Join(filepath.Dir(link), "."+filepath.Base(target)+".tmp")
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, link); err != nil {
		os.Remove(tmp) // Best effort.
		return err
	}
	return nil
}

// launch starts the host detached and waits for its reply.
func (d Dir) launch(ctx context.Context, name, binary string, boot Bootstrap, lock *os.File) error {
	var ready Ready
	proc, err := tree.Detached{
		Binary: binary, Argv: []string{"den", "host", name, d.ID}, Dir: "/", Log: d.HostLog(),
		// The mark keeps the session in which a host was started from taking
		// it for one of its own processes.
		Env:   []string{HostMark + "=" + d.ID, tree.Single, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
		Extra: []*os.File{lock}, // LockFD
	}.Start(ctx, boot, &ready)
	if err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	if ready.Error != nil {
		tree.Discard(proc)
		return ready.Error.Err()
	}
	return proc.Release()
}

// HostMark is the environment variable that marks a host process.
const HostMark = tree.HostMark

// SessionMark is the environment variable by which the processes of a session
// are found after their host was killed.
const SessionMark = tree.SessionMark

// RunnerMark and RunnerProcessMark are the environment variables by which the
// processes of an agent that is driven by a protocol are found.
const (
	RunnerMark        = tree.RunnerMark
	RunnerProcessMark = tree.RunnerProcessMark
)

// ProgramMark is the environment variable that tells the processes of a session
// its ID.
const ProgramMark = "DEN_SESSION_ID"

// Mark identifies the session's processes.
func (d Dir) Mark() (string, error) { return tree.Mark(d.ID, d.Path) }
