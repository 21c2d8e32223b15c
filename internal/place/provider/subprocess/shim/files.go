package shim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/base/statefile"
	"den/internal/process/tree"
)

// maxFile bounds Record and End. A command line of the longest size that systems
// allow fits.
const maxFile = 16 << 20

// FilesVersion is that of Record and End.
const FilesVersion = 1

// Record is what is written down of a session once its command runs. A
// directory without one is no session.
type Record struct {
	V       int      `json:"v"`
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Owner   string   `json:"owner"`
	Starts  int      `json:"starts"`
	Argv    []string `json:"argv"`
	WorkDir string   `json:"work_dir"`
	Socket  string   `json:"socket"`
	PID     int      `json:"pid"` // the command's; for people, never for liveness
	// Cgroup is the directory of the cgroup that holds the session's processes.
	Cgroup  string    `json:"cgroup,omitempty"`
	Shim    string    `json:"shim"`
	Started time.Time `json:"started"`
}

// End is how a session's command ended.
type End struct {
	V      int       `json:"v"`
	ID     string    `json:"id"`
	Code   int       `json:"code"` // 128 and the signal's number where a signal ended it
	Signal string    `json:"signal,omitempty"`
	At     time.Time `json:"at"`
	Active time.Time `json:"active"` // when it last wrote something
	Closed bool      `json:"closed"` // its whole tree is gone and the last text is written
}

// Dir is a session's directory.
type Dir string

func (d Dir) file(name string) string { return filepath.Join(string(d), name) }

// LogFile is the output, of which the older half is in OldLogFile.
func (d Dir) LogFile() string { return d.file("output.log") }

// OldLogFile is what LogFile was before it was full.
func (d Dir) OldLogFile() string { return d.file("output.log.1") }

// LastFile is the text that was kept when the session ended.
func (d Dir) LastFile() string { return d.file("last") }

// ShimLog is where a shim complains.
func (d Dir) ShimLog() string { return d.file("shim.log") }

func (d Dir) recordFile() string { return d.file("session.json") }
func (d Dir) endFile() string    { return d.file("end.json") }

// Record reads the session's record. No session is fault.NotFound.
func (d Dir) Record() (*Record, error) {
	r, found, err := statefile.Load[Record](d.recordFile(), FilesVersion, maxFile)
	if err == nil && !found {
		err = fault.Errorf(fault.NotFound, "there is no %s", d.recordFile())
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// End reads how the session's command ended, nil where it is not written.
func (d Dir) End() (*End, error) {
	e, found, err := statefile.Load[End](d.endFile(), FilesVersion, maxFile)
	if err != nil || !found {
		return nil, err
	}
	return &e, nil
}

// Neither file is synced: a session does not outlive its machine.

func (d Dir) saveRecord(r *Record) error {
	return statefile.Replace(d.recordFile(), FilesVersion, *r)
}

func (d Dir) saveEnd(e *End) error {
	return statefile.Replace(d.endFile(), FilesVersion, *e)
}

// A lock's file says how often its session was started, and its name, for
// those who watch locks and look at nothing else. The count has a fixed width,
// so that one write replaces another.
const lockFormat = "%-20d\n%s\n"

// WriteLock is for who holds the lock.
func WriteLock(lock *os.File, starts int, name string) error {
	if _, err := lock.WriteAt(fmt.Appendf(nil, lockFormat, starts, name), 0); err != nil {
		return fmt.Errorf("count the start: %w", err)
	}
	return nil
}

// ReadLock reads a lock's file. That of a session which never started is
// empty.
func ReadLock(lock *os.File) (starts int, name string, err error) {
	raw, err := io.ReadAll(io.NewSectionReader(lock, 0, 1<<10))
	if err != nil {
		return 0, "", fault.Errorf(fault.Storage, "read lock: %w", err)
	}
	if len(raw) == 0 {
		return 0, "", nil
	}
	count, rest, _ := strings.Cut(string(raw), "\n")
	name, _, _ = strings.Cut(rest, "\n")
	if starts, err = strconv.Atoi(strings.TrimSpace(count)); err != nil || name == "" {
		return 0, "", fault.Errorf(fault.Storage, "lock %s is damaged: it says %q", lock.Name(), raw)
	}
	return starts, name, nil
}

// Bootstrap is the one message that a starting shim reads from its stdin. The
// environment goes this way because a command line is public, and it is
// written to no file.
type Bootstrap struct {
	V       int      `json:"v"`
	Dir     string   `json:"dir"`  // the session's
	ID      string   `json:"id"`   // of this life of the session
	Mark    string   `json:"mark"` // by which its processes are found
	Name    string   `json:"name"`
	Owner   string   `json:"owner"`
	Starts  int      `json:"starts"` // how often the name was started, with this time
	Argv    []string `json:"argv"`
	Env     []string `json:"env"` // whole
	WorkDir string   `json:"work_dir"`
	Socket  string   `json:"socket"`

	// Grace is what the processes get that the command leaves behind, before
	// they are killed.
	Grace time.Duration `json:"grace_ns"`

	// Cgroup is the directory of the cgroup for the command, or "". The starter
	// makes it, to remove it where the shim does not get to write it down.
	Cgroup string `json:"cgroup,omitempty"`
}

func (b *Bootstrap) cgroup() tree.Cgroup { return tree.Cgroup{Path: b.Cgroup} }

// BootstrapVersion is that of Bootstrap and Ready: both ends are the same
// binary as a rule, but an upgrade may happen between the two.
const BootstrapVersion = 1

// LockFD is the descriptor on which a shim inherits its session's lock.
const LockFD = 3

// Ready is the one message that a shim writes when the command runs, or
// cannot.
type Ready struct {
	Error *rpc.Error `json:"error,omitempty"`
}
