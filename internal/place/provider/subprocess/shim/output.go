package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"sync"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/process/supervise"
)

// logLimit bounds a log file. A full one is kept as the older half and the
// half before it is dropped: a session's log takes twice this on disk.
const logLimit = 4 << 20

// chunk is how much output is read at once.
const chunk = 32 << 10

// output keeps what the command prints: the end of it in memory, more of it
// in a file.
type output struct {
	dir      Dir
	activity *supervise.Activity

	mu     sync.Mutex // guards the fields below
	kept   ring
	active time.Time // when the command last wrote, or was started
	log    *os.File  // or nil, when the disk took nothing
	size   int64     // of log
}

func openOutput(dir Dir, a *supervise.Activity) (*output, error) {
	f, err := createLog(dir)
	if err != nil {
		return nil, err
	}
	return &output{dir: dir, activity: a, log: f, active: time.Now()}, nil
}

func createLog(dir Dir) (*os.File, error) {
	f, err := os.OpenFile(dir.LogFile(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the log: %w", err)
	}
	return f, nil
}

// read takes all that comes from the command, until nobody can write any more
// or the deadline that the end sets.
func (o *output) read(pipe *os.File) {
	buf := make([]byte, chunk)
	for {
		n, err := pipe.Read(buf)
		if n > 0 {
			o.take(buf[:n])
		}
		if err != nil {
			return // the end, or the deadline
		}
	}
}

func (o *output) take(p []byte) {
	o.activity.Note()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.active = time.Now()
	o.kept.write(p)
	if o.log == nil {
		return
	}
	if err := o.appendLocked(p); err != nil {
		// The session goes on without its log: what is in memory still serves.
		log.Printf("keep output on disk: %v; no more of it is kept there", err)
		o.log.Close() // Best effort: it has failed already.
		o.log = nil
	}
}

func (o *output) appendLocked(p []byte) error {
	if o.size+int64(len(p)) > logLimit && o.size > 0 {
		if err := os.Rename(o.dir.LogFile(), o.dir.OldLogFile()); err != nil {
			return err
		}
		if err := o.beginLogLocked(); err != nil {
			return err
		}
	}
	n, err := o.log.Write(p)
	o.size += int64(n)
	return err
}

func (o *output) beginLogLocked() error {
	f, err := createLog(o.dir)
	if err != nil {
		return err
	}
	o.log.Close() // Best effort: what it had is written.
	o.log, o.size = f, 0
	return nil
}

func (o *output) peek(lines int) string {
	o.mu.Lock()
	kept, cut := o.kept.bytes(), o.kept.cut
	o.mu.Unlock()
	return LastLines(kept, cut, lines)
}

func (o *output) lastActive() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.active
}

// clear forgets all but the last lines, on disk too: nobody shall find the
// rest there.
func (o *output) clear(lines int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := lastBytes(o.kept.bytes(), lines)
	o.kept = ring{}
	o.kept.write(last)
	if err := os.Remove(o.dir.OldLogFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear the log: %w", err)
	}
	if o.log == nil {
		return nil
	}
	if err := o.beginLogLocked(); err != nil {
		return err
	}
	return o.appendLocked(last)
}

// finish writes the last text for those who look later.
func (o *output) finish() error {
	return atomicfile.Replace(o.dir.LastFile(), []byte(o.peek(0)))
}
