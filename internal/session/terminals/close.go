package terminals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/session"
	"den/internal/session/home"
)

const (
	// closeGrace is how long a program may take to end after each signal. MCP
	// clients wait only seconds for their servers.
	closeGrace = 500 * time.Millisecond
	// closeLimit bounds the end of one terminal.
	closeLimit = 20 * time.Second
)

// Closed is a terminal that was ended.
type Closed struct {
	Session string `json:"session"`
	Status  string `json:"status"`
	Killed  int    `json:"killed"` // processes that had to be killed
}

// CloseTerminal ends a terminal and all its processes. Its record and its
// recording stay.
func (c *Client) CloseTerminal(ctx context.Context, ref string) (Closed, error) {
	t, err := c.toUse(ref)
	if err != nil {
		return Closed{}, err
	}
	killed, err := t.s.ForceKill(ctx, closeGrace)
	if err != nil {
		return Closed{}, advise(err, nil)
	}
	c.forget(t)
	return Closed{Session: t.name, Status: killed.Status, Killed: killed.Killed}, nil
}

// Close ends the client's terminals but for those that are kept, all at the
// same time.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	again := c.gone
	c.gone = true
	c.mu.Unlock()
	if again {
		return nil
	}
	all := c.owned()
	errs := make([]error, len(all))
	var ending sync.WaitGroup
	for i, t := range all {
		if t.kept {
			continue
		}
		ending.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, closeLimit)
			defer cancel()
			_, errs[i] = t.s.ForceKill(ctx, closeGrace)
		})
	}
	ending.Wait()
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, c.lock.Close()) // the file stays: the next client tries again
	}
	return c.releaseName()
}

// CloseIdle ends the client's terminals that nobody has used, and that printed
// nothing, for the time that the limits allow. Kept ones stay, and those whose
// code runs.
func (c *Client) CloseIdle(ctx context.Context, now time.Time) error {
	if c.o.Limits.Idle <= 0 {
		return nil
	}
	var errs []error
	for _, t := range c.owned() {
		if t.kept || !c.isIdle(t, now) {
			continue
		}
		_, err := t.s.ForceKill(ctx, closeGrace)
		if err == nil {
			c.forget(t)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c *Client) isIdle(t *terminal, now time.Time) bool {
	since := now.Add(-c.o.Limits.Idle)
	c.mu.Lock()
	unused := t.calls == 0 && t.used.Before(since)
	c.mu.Unlock()
	if !unused {
		return false
	}
	if m, err := t.s.Dir.Inspect(); err == nil && m.Status == home.Running {
		if code, _ := codeOf(t.s); code == codeRuns {
			return false
		}
	}
	printed, err := t.s.Dir.LastWrite()
	return err == nil && printed.Before(since)
}

const lockSuffix = ".lock"

func locksDir(root home.Home) string { return filepath.Join(root.Path, "clients") }

// nameLength is how much of an id tells one client from another.
const nameLength = 6

// claimName finds a name that no client has, and locks its file for as long as
// the client is there.
func claimName(o Options) (string, *os.File, error) {
	dir := locksDir(o.Home)
	if err := o.Home.CheckOwner(); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fault.Errorf(fault.KindOf(err), "make room for clients in Home %s: %w", o.Home.Path, err)
	}
	for {
		id := ident.New(time.Now())
		name := o.Prefix + "-" + id[len(id)-nameLength:]
		path := filepath.Join(dir, name+lockSuffix)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		lock, err := filelock.Try(path)
		switch {
		case errors.Is(err, filelock.ErrHeld):
			continue
		case err != nil:
			return "", nil, fault.Errorf(fault.KindOf(err), "note that a client is there: %w", err)
		case filelock.Deleted(lock): // it was taken for one that a client left
			lock.Close() // Best effort: it is gone.
			continue
		}
		return name, lock, nil
	}
}

// releaseName gives the name up: nothing of the client is left.
func (c *Client) releaseName() error {
	return errors.Join(os.Remove(c.lock.Name()), c.lock.Close())
}

// CloseOrphans ends the terminals of clients that were killed: nobody holds the
// locks of these.
func CloseOrphans(ctx context.Context, o Options) error {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(locksDir(o.Home)), "*"+lockSuffix))
	if err != nil {
		return fmt.Errorf("look for clients that were killed: %w", err)
	}
	var errs []error
	for _, path := range paths {
		lock, err := filelock.Try(path)
		if errors.Is(err, filelock.ErrHeld) {
			continue
		}
		if err == nil {
			name := strings.TrimSuffix(filepath.Base(path), lockSuffix)
			if err = closeOrphansOf(ctx, o, name); err == nil {
				err = os.Remove(path)
			}
			err = errors.Join(err, lock.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func closeOrphansOf(ctx context.Context, o Options, client string) error {
	dirs, err := o.Home.All()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range dirs {
		m, err := d.Inspect()
		if err != nil || !m.Status.Active() || m.Labels[ClientLabel] != client || m.Labels[KeptLabel] != "" {
			continue // a record that cannot be read names no client
		}
		_, err = session.In(d, o.Session).ForceKill(ctx, closeGrace)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
