package news

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/statefile"
	"den/internal/session"
	"den/internal/session/cell"
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
	// Had are the ends that the caller has from other answers, and that the log
	// has yet to say: ids of cells, and SessionEnd.
	Had []string `json:"had,omitempty"`
}

// SessionEnd stands for the session's end among those of its cells.
const SessionEnd = "session"

// MaxHad bounds them: of more the oldest are told again.
const MaxHad = 16

// Have keeps that the caller has an end from another answer.
func (p *Place) Have(end string) {
	if !slices.Contains(p.Had, end) {
		had := append(slices.Clone(p.Had), end)
		p.Had = had[max(0, len(had)-MaxHad):]
	}
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

// Kept is a cursor in a file. Calls of its name take turns where they are about
// the same session.
type Kept struct {
	Cursor
	dir, name string
	turns     *os.File // or nil: see Lock
}

// Open reads the cursor of a name. Only once a session is locked, what it says of
// that is not changed by others. The caller closes it.
func Open(root home.Home, name string, now time.Time) (*Kept, error) {
	if err := ident.Check("cursor", name); err != nil {
		return nil, err
	}
	if err := root.CheckOwner(); err != nil {
		return nil, err
	}
	k := &Kept{dir: filepath.Join(root.Path, "cursors"), name: name}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "keep cursor '%s': %w", name, err)
	}
	k.Cursor = NewCursor(now)
	return k, k.load()
}

func (k *Kept) path() string { return filepath.Join(k.dir, k.name+".json") }

// load reads the file. Without one the cursor stays as it is.
func (k *Kept) load() error {
	kept, found, err := statefile.Load[Cursor](k.path(), cursorVersion, maxCursor)
	if err != nil {
		return statefile.Advise(fmt.Errorf("read cursor '%s': %w", k.name, err), "without the file it begins anew")
	}
	if found {
		k.Cursor = kept
	}
	return nil
}

// Lock waits until no other call of the name is about one of the sessions, and
// reads the cursor again. It is called once.
func (k *Kept) Lock(ctx context.Context, sessions []*session.Session) (err error) {
	offsets := make([]int64, len(sessions))
	for i, s := range sessions {
		h := fnv.New64a()
		h.Write([]byte(s.Dir.ID)) // never fails
		offsets[i] = int64(h.Sum64() >> 2)
	}
	k.turns, err = filelock.WaitAt(ctx, filepath.Join(k.dir, k.name+".lock"), offsets...)
	switch {
	case err == nil:
		return k.load()
	case ctx.Err() != nil:
		return fault.Hintf(fault.Errorf(fault.Busy, "another call that uses the cursor '%s' waits for one of these sessions", k.name),
			"callers that wait for the same session at the same time need a name each: '--as NAME'")
	}
	return err
}

// Advance keeps how far the caller is told now. Sessions that it did not ask
// about stay as they are; those that are gone are forgotten.
func (k *Kept) Advance(to Cursor, root home.Home) error {
	return k.change(root, func(c Cursor) Cursor { return c.With(to) })
}

// Had keeps that the caller of a name has the end of a session, or of the cell whose
// record is given, from another answer.
func Had(root home.Home, name string, s *session.Session, ended *cell.Record, now time.Time) error {
	end := SessionEnd
	if ended != nil {
		end = ended.CellID
	}
	k, err := Open(root, name, now)
	if err != nil || k.Sessions[s.Dir.ID].told(end, ended) {
		return err
	}
	return k.change(root, func(c Cursor) Cursor {
		place := c.Sessions[s.Dir.ID]
		if !place.told(end, ended) {
			place.Have(end)
		}
		return c.With(Cursor{Sessions: map[string]Place{s.Dir.ID: place}})
	})
}

// told reports whether the caller has an end, here or from another answer.
func (p Place) told(end string, ended *cell.Record) bool {
	return p.Over || ended != nil && p.Seq > ended.EndSeq || slices.Contains(p.Had, end)
}

// change writes the cursor as it is to be, given how others have left it.
func (k *Kept) change(root home.Home, to func(Cursor) Cursor) error {
	all, err := filelock.Wait(context.Background(), filepath.Join(k.dir, ".lock")) // no cursor has this name
	if err != nil {
		return err
	}
	defer all.Close()                // Best effort: the process's end does the same.
	if err := k.load(); err != nil { // others may have advanced it
		return err
	}
	k.Cursor = to(k.Cursor)
	maps.DeleteFunc(k.Sessions, func(id string, _ Place) bool {
		_, err := os.Lstat(root.Dir(id).Path)
		return errors.Is(err, fs.ErrNotExist)
	})
	if err := statefile.Replace(k.path(), cursorVersion, k.Cursor); err != nil {
		return fmt.Errorf("keep a cursor: %w", err)
	}
	return nil
}

// Close lets the next call have the sessions.
func (k *Kept) Close() {
	if k.turns != nil {
		k.turns.Close() // Best effort: the process's end does the same.
	}
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
