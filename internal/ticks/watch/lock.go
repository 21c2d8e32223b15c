package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
)

// Holder is who holds a lock, as it says itself.
type Holder struct {
	PID   int       `json:"pid"`
	What  string    `json:"what"` // "tick", "watch"
	Since time.Time `json:"since"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another process" // it has not said yet, or could not
	}
	return fmt.Sprintf("process %d ('den kernel %s', since %s)", h.PID, h.What, h.Since.Local().Format(time.DateTime))
}

// A Lock is held until it is closed, or its process ends.
type Lock struct {
	file *os.File
	dir  *os.File // or nil
}

// Acquire takes a lock without waiting. If somebody holds it, the error is
// fault.Busy and says who.
func Acquire(path string, h Holder) (*Lock, error) {
	f, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fault.Errorf(fault.Busy, "%s has it", read(path))
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "lock: %w", err)
	}
	l := &Lock{file: f}
	if err := l.say(h); err != nil {
		return nil, errors.Join(fault.Errorf(fault.KindOf(err), "lock: %w", err), l.Close())
	}
	return l, nil
}

// say writes who holds the lock into its file, which cannot be replaced while
// it is locked.
func (l *Lock) say(h Holder) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(data, '\n'), 0)
	return err
}

// dirGrace is how long the lock of a directory is waited for: who is killed
// lets go of its locks one after the other, and who looks at one has it for a
// moment.
const dirGrace = time.Second

// AlsoDir takes the lock of a directory, too: processes that do not agree on
// where the file is agree on the directory. If another one holds it, the error
// is fault.Busy. Where the file system has no such locks, the file alone counts.
func (l *Lock) AlsoDir(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dirGrace)
	defer cancel()
	f, err := filelock.WaitDir(ctx, dir)
	switch {
	case errors.Is(err, filelock.ErrNoLocks):
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Errorf(fault.Busy, "another process has a lock on %s", dir)
	case err != nil:
		return fault.Errorf(fault.KindOf(err), "lock: %w", err)
	}
	l.dir = f
	return nil
}

// Close releases the lock, also if a child that is just being started still has
// its files.
func (l *Lock) Close() error {
	var err error
	if l.dir != nil {
		err = filelock.ReleaseDir(l.dir)
	}
	return errors.Join(err, filelock.Release(l.file))
}

// Held returns who holds a lock; held is false if nobody does.
func Held(path string) (h Holder, held bool, err error) {
	held, err = filelock.Held(path)
	if err != nil || !held {
		return Holder{}, false, err
	}
	return read(path), true, nil
}

// maxHolder bounds the file of a lock.
const maxHolder = 4 << 10

// read returns who says that it holds the lock: the zero Holder where that
// cannot be read, because it is being written.
func read(path string) Holder {
	var h Holder
	data, err := atomicfile.Read(path, maxHolder)
	if err != nil || json.Unmarshal(bytes.TrimSpace(data), &h) != nil {
		return Holder{}
	}
	return h
}
