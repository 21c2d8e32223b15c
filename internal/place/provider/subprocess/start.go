package subprocess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/provider/children"
	"den/internal/place/provider/inherit"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/tree"
	"den/internal/session/home"
)

// Start begins a session and returns once its command runs.
func (p *Provider) Start(ctx context.Context, name string, c provider.Config) error {
	started.Reap()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	if err := provider.CheckName(name); err != nil {
		return err
	}
	if err := checkConfig(name, c); err != nil {
		return err
	}
	if fi, err := os.Stat(c.WorkDir); err != nil || !fi.IsDir() {
		return fault.Hintf(fault.Errorf(fault.Usage, "start session '%s': working directory %s is no directory", name, c.WorkDir), "make it first")
	}
	lock, err := p.claim(ctx, name)
	if err != nil {
		return err
	}
	launched := false
	defer func() {
		if launched {
			lock.Close() // Best effort: the shim has it too, by now.
		} else {
			filelock.Release(lock) // Best effort: it is closed, at least. The next start may come at once.
		}
	}()
	starts, _, err := shim.ReadLock(lock)
	if err != nil {
		return err
	}
	dir := p.root.session(name)
	if err := p.clear(ctx, dir); err != nil {
		return fmt.Errorf("start session '%s': %w", name, err)
	}
	if err := writeMeta(dir, c.Meta); err != nil {
		return errors.Join(fmt.Errorf("start session '%s': %w", name, err), os.RemoveAll(string(dir)))
	}
	boot := shim.Bootstrap{
		V: shim.BootstrapVersion, Dir: string(dir), ID: ident.New(time.Now()), Name: name, Owner: p.owner,
		Starts: starts + 1, Argv: c.Argv, WorkDir: c.WorkDir, Grace: p.grace,
	}
	if boot.Mark, err = tree.Mark(boot.ID, boot.Dir); err != nil {
		return errors.Join(fmt.Errorf("start session '%s': %w", name, err), os.RemoveAll(boot.Dir))
	}
	boot.Env = environment(os.Environ(), c.Env, boot.ID, boot.Mark)
	if boot.Socket, err = home.RunPath(socketKey(dir, boot.ID), os.Getenv); err != nil {
		return errors.Join(err, os.RemoveAll(boot.Dir))
	}
	boot.Cgroup = tree.NewCgroup(boot.Mark).Path // from here on, launch removes it
	if err := p.launch(ctx, boot, lock); err != nil {
		// A start that failed is not counted: nothing of it can end.
		return errors.Join(err, os.RemoveAll(boot.Dir), shim.WriteLock(lock, starts, name))
	}
	launched = true
	return nil
}

// claim takes the lock of a session that does not run. One whose command has
// ended while its shim still ends the rest of the tree is waited for.
func (p *Provider) claim(ctx context.Context, name string) (*os.File, error) {
	var lock *os.File
	err := poll.Every(ctx, longestPause, func() (bool, error) {
		f, err := filelock.Try(p.root.lock(name))
		if err == nil {
			lock = f
			return true, nil
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return false, err
		}
		if s, err := p.inspect(name); err == nil && !s.running() {
			return false, nil // it ends: look again
		}
		return false, fault.Hintf(fault.Errorf(fault.Busy, "session '%s' is running already, or is being started", name), "stop it first, or choose another name")
	})
	return lock, err
}

// clear makes an empty directory where an ended session was. The caller has
// the lock.
func (p *Provider) clear(ctx context.Context, dir shim.Dir) error {
	if err := discard(ctx, dir); err != nil {
		return err
	}
	for _, d := range []string{string(dir), metaDir(dir)} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return fault.Errorf(fault.Storage, "make the session's directory: %w", err)
		}
	}
	return nil
}

// discard removes an ended session, and ends what a killed shim left behind.
// The caller has the lock.
func discard(ctx context.Context, dir shim.Dir) error {
	old, err := dir.Record()
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	if old != nil {
		if err := sweep(ctx, dir, old); err != nil {
			return err
		}
		if err := removeSocket(dir, old.ID); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(string(dir)); err != nil {
		return fault.Errorf(fault.Storage, "remove the ended session: %w", err)
	}
	return nil
}

// environment is a command's whole environment. The mark is what finds its
// processes when their shim was killed; a session of den that is started
// inside has a mark of its own.
func environment(outer []string, own map[string]string, id, mark string) []string {
	vars := inherit.Vars(outer)
	maps.Copy(vars, own)
	delete(vars, home.HostMark) // it would hide the command from Stop
	vars[home.ProgramMark], vars[home.SessionMark] = id, mark
	return provider.Assignments(vars)
}

// checkConfig refuses what no command can be started with.
func checkConfig(name string, c provider.Config) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return fault.Hintf(fault.Errorf(fault.Usage, "start session '%s': no command is given", name), "give a program and its arguments")
	}
	if !filepath.IsAbs(c.WorkDir) {
		return fault.Errorf(fault.Usage, "start session '%s': working directory %q is not absolute", name, c.WorkDir)
	}
	for _, s := range append(slices.Clone(c.Argv), c.WorkDir) {
		if strings.Contains(s, "\x00") {
			return fault.Errorf(fault.Usage, "start session '%s': %.40q holds a zero byte", name, s)
		}
	}
	for k, v := range c.Env {
		if !inherit.Valid(k, v) {
			return fault.Errorf(fault.Usage, "start session '%s': %.40q cannot be a variable, or its value has a zero byte", name, k)
		}
	}
	return nil
}

// launch starts the shim detached and waits for its answer. After an error
// nothing of it runs any more.
func (p *Provider) launch(ctx context.Context, boot shim.Bootstrap, lock *os.File) error {
	var ready shim.Ready
	proc, err := tree.Detached{
		Binary: p.binary, Argv: []string{"den", "shim", boot.Name, boot.Mark}, Dir: "/", Log: shim.Dir(boot.Dir).ShimLog(),
		// The mark keeps the session in which a shim was started from taking
		// it for one of its own processes, and finds it.
		Env:   []string{home.HostMark + "=" + boot.Mark, tree.Single, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
		Extra: []*os.File{lock}, // shim.LockFD
	}.Start(ctx, boot, &ready)
	if err != nil {
		err = fmt.Errorf("start session '%s': %w", boot.Name, err)
	} else if ready.Error != nil {
		tree.Discard(proc)
		err = ready.Error.Err()
	}
	if err == nil {
		started.Add(proc.Pid)
		return proc.Release()
	}
	// Not the caller's context, which may be over: what has begun must go.
	return errors.Join(err, sweepMarked(context.WithoutCancel(ctx), boot.Mark, boot.Cgroup), removeSocket(shim.Dir(boot.Dir), boot.ID))
}

// started are the shims that this process started, through whichever Provider:
// children are a process's.
var started children.Set
