package terminals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/session"
	"den/internal/session/home"
)

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
