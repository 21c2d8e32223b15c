package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/place/provider"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/supervise"
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
		Rows: c.Rows,
	}
	if boot.Rows == 0 {
		boot.Rows = defaultRows
	}
	if boot.Mark, err = supervise.Mark(boot.ID, boot.Dir); err != nil {
		return errors.Join(fmt.Errorf("start session '%s': %w", name, err), os.RemoveAll(boot.Dir))
	}
	boot.Env = environment(os.Environ(), c.Env, boot.ID, boot.Mark)
	if boot.Socket, err = home.RunPath(socketKey(dir, boot.ID), os.Getenv); err != nil {
		return errors.Join(err, os.RemoveAll(boot.Dir))
	}
	boot.Cgroup = supervise.NewCgroup(boot.Mark).Path // from here on, launch removes it
	if err := p.launch(ctx, boot, lock); err != nil {
		// A start that failed is not counted: nothing of it can end.
		return errors.Join(err, os.RemoveAll(boot.Dir), shim.WriteLock(lock, starts, name))
	}
	launched = true
	return nil
}

// defaultRows is the height of the terminal that others would have.
const defaultRows = 40

// claim takes the lock of a session that does not run. One whose command has
// ended while its shim still ends the rest of the tree is waited for.
func (p *Provider) claim(ctx context.Context, name string) (*os.File, error) {
	var lock *os.File
	err := until(ctx, func() (bool, error) {
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
