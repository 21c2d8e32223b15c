package news

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/statefile"
	"den/internal/session"
	"den/internal/session/home"
)

// Cursor is how far a caller was told.
type Cursor struct {
	V        int              `json:"v"`
	Begun    time.Time        `json:"begun"`    // what happened before is not told
	Sessions map[string]Place `json:"sessions"` // by id
}

// Place is how far it was told of one session.
type Place struct {
	Seq  uint64 `json:"seq"`            // of the log's last event that was looked at
	Over bool   `json:"over,omitempty"` // the session's end was, too
	// The last event of a cell that was looked at; see happened.
	Last string `json:"last,omitempty"`
	// What was told of a cell that goes on.
	Shown *Shown `json:"shown,omitempty"`
	// The last text, silence and waiting program that were told: only what was
	// printed later counts.
	Text    uint64 `json:"text,omitempty"`
	Idle    uint64 `json:"idle,omitempty"`
	Waiting uint64 `json:"waiting,omitempty"`
}

// Shown is the beginning of a cell's output that was told.
type Shown struct {
	Cell  string `json:"cell_id"`
	Bytes int    `json:"bytes"`
	Sum   string `json:"sum"`
}

// recent is how long before its first use a cursor begins: what was fired before
// is told, and what lies in an old Home is not.
const recent = time.Hour

// NewCursor returns the cursor of a caller that was told nothing yet.
func NewCursor(now time.Time) Cursor {
	return Cursor{Begun: now.Add(-recent).UTC(), Sessions: map[string]Place{}}
}

const (
	cursorVersion = 1
	// maxCursor is that of a Home with a hundred thousand sessions.
	maxCursor = statefile.Large
)

// Kept is a cursor in a file. Its holder has a lock on it.
type Kept struct {
	Cursor
	path string
	lock *os.File
}

// Open reads the cursor of a name, and waits until no other call uses it. The
// caller closes it.
func Open(ctx context.Context, root home.Home, name string, now time.Time) (*Kept, error) {
	if err := ident.Check("cursor", name); err != nil {
		return nil, err
	}
	if err := root.CheckOwner(); err != nil {
		return nil, err
	}
	dir := filepath.Join(root.Path, "cursors")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "keep cursor '%s': %w", name, err)
	}
	k := &Kept{path: filepath.Join(dir, name+".json")}
	var err error
	if k.lock, err = filelock.Wait(ctx, filepath.Join(dir, name+".lock")); err != nil {
		if ctx.Err() != nil {
			err = fault.Hintf(fault.Errorf(fault.Busy, "another call uses the cursor '%s'", name), "callers that wait at the same time need a name each: '--as NAME'")
		}
		return nil, err
	}
	found := false
	if k.Cursor, found, err = statefile.Load[Cursor](k.path, cursorVersion, maxCursor); err != nil {
		k.Close()
		return nil, statefile.Advise(fmt.Errorf("read cursor '%s': %w", name, err), "without the file it begins anew")
	}
	if !found {
		k.Cursor = NewCursor(now)
	}
	return k, nil
}

// Advance keeps how far the caller is told now. Sessions that it did not ask
// about stay as they were; those that are gone are forgotten.
func (k *Kept) Advance(to Cursor, root home.Home) error {
	k.Cursor = k.With(to)
	maps.DeleteFunc(k.Sessions, func(id string, _ Place) bool {
		_, err := os.Lstat(root.Dir(id).Path)
		return errors.Is(err, fs.ErrNotExist)
	})
	if err := statefile.Replace(k.path, cursorVersion, k.Cursor); err != nil {
		return fmt.Errorf("keep a cursor: %w", err)
	}
	return nil
}

// Close lets the next call have the cursor.
func (k *Kept) Close() {
	k.lock.Close() // Best effort: the process's end does the same.
}

// With returns the cursor with the places of another.
func (c Cursor) With(to Cursor) Cursor {
	sessions := maps.Clone(c.Sessions)
	if sessions == nil {
		sessions = map[string]Place{}
	}
	maps.Copy(sessions, to.Sessions)
	c.Sessions = sessions
	return c
}

// SessionsOf returns the sessions of a Home of which there may be news: those
// that are active, and those that are over since the cursor began and not told
// of. A record that cannot be read hides no other.
func SessionsOf(root home.Home, cur Cursor, o session.Options) ([]*session.Session, error) {
	dirs, err := root.All()
	if err != nil {
		return nil, err
	}
	var all []*session.Session
	for _, d := range dirs {
		place, known := cur.Sessions[d.ID]
		if place.Over {
			continue
		}
		m, err := d.Reconcile()
		switch {
		case err != nil:
			if o.Warn != nil {
				o.Warn(err)
			}
			continue
		case m.Status.Final() && !known && m.Ended.Before(cur.Begun):
			continue
		}
		all = append(all, session.In(d, o))
	}
	return all, nil
}
