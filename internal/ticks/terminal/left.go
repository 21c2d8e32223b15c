package terminal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// leftFile has what became of terminals that earlier ticks left, until an agent
// was told. It is in the state directory: what closed them may have been the
// end of the tick that was killed, long before the next login.
const leftFile = "left.json"

// leftVersion is that of the file.
const leftVersion = 1

// maxLeft bounds what is kept for an agent that never logs in. Of more the
// oldest are forgotten: they are in the archive.
const maxLeft = 5 * Max

// lefts keeps what became of terminals that earlier ticks left.
type lefts struct {
	path string // or "": in memory only

	mu   sync.Mutex // guards the fields below
	read bool
	all  []Left
}

func openLefts(state string) *lefts {
	if state == "" {
		return &lefts{}
	}
	return &lefts{path: filepath.Join(state, leftFile)}
}

type leftsFile struct {
	V    int    `json:"v"`
	Left []Left `json:"left"`
}

// keep adds one.
func (l *lefts) keep(one Left) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.loadLocked()
	l.all = append(l.all, one)
	if len(l.all) > maxLeft {
		l.all = l.all[len(l.all)-maxLeft:]
	}
	return errors.Join(err, l.saveLocked())
}

// list returns what no agent was told of. What cannot be read is an error, and
// told once.
func (l *lefts) list() ([]Left, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.loadLocked()
	return append([]Left(nil), l.all...), err
}

// clear forgets all: the agent was told.
func (l *lefts) clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return nil
	}
	l.all = nil
	return l.saveLocked()
}

// loadLocked reads the file, once. One that makes no sense is kept aside.
func (l *lefts) loadLocked() error {
	if l.read || l.path == "" {
		return nil
	}
	l.read = true
	f, _, err := statefile.Load[leftsFile](l.path, leftVersion, maxRegistry)
	if errors.Is(err, statefile.ErrDamaged) || fault.KindOf(err) == fault.Protocol {
		err = statefile.PutAside(l.path, err, time.Now())
	}
	if err != nil {
		return fault.Errorf(fault.Storage, "read what became of earlier terminals: %w", err)
	}
	l.all = f.Left
	return nil
}

// saveLocked writes the file, or removes it where there is nothing to keep.
func (l *lefts) saveLocked() error {
	if l.path == "" {
		return nil
	}
	var err error
	if len(l.all) == 0 {
		if err = os.Remove(l.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = statefile.Save(l.path, leftVersion, leftsFile{Left: l.all})
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "keep what became of earlier terminals: %w", err)
	}
	return nil
}
