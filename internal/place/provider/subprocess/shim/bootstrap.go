package shim

import (
	"time"

	"den/internal/base/rpc"
	"den/internal/process/supervise"
)

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
	Rows    int      `json:"rows"` // how many lines count as seen at once

	// Grace is what the processes get that the command leaves behind, before
	// they are killed.
	Grace time.Duration `json:"grace_ns"`

	// Cgroup is the directory of the cgroup for the command, or "". The starter
	// makes it, to remove it where the shim does not get to write it down.
	Cgroup string `json:"cgroup,omitempty"`
}

func (b *Bootstrap) cgroup() supervise.Cgroup { return supervise.Cgroup{Path: b.Cgroup} }

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
