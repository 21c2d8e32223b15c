package supervise

import (
	"fmt"
	"slices"

	"den/internal/process/pty"

	"golang.org/x/sys/unix"
)

// HostMark is the environment variable that marks the processes that hold a
// tree: hosts and shims. Its value is the session's ID.
const HostMark = "DEN_HOST"

// SessionMark is the environment variable that marks the processes of a
// session, so that they can be found after their holder was killed. Its value is
// the session's Mark.
const SessionMark = "DEN_SESSION_MARK"

// RunnerMark is the environment variable that marks the processes of an agent
// that is driven by a protocol. Sessions that the agent starts do not inherit
// it: they outlive the agent.
const RunnerMark = "DEN_RUNNER_MARK"

// RunnerProcessMark is the environment variable that marks what one process of
// such an agent starts.
const RunnerProcessMark = "DEN_RUNNER_PROCESS"

// Mark returns the value of SessionMark: the session's ID with the device and
// the inode of its directory. A directory that is moved keeps its mark. A copy
// has another, so nothing that is done to a copy reaches the processes of the
// original.
func Mark(id, dir string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return "", fmt.Errorf("identify directory %s: %w", dir, err)
	}
	return fmt.Sprintf("%s-%x-%x", id, st.Dev, st.Ino), nil
}

// Below lists the live processes below root, but for the hosts and shims that
// were started there and what belongs to them.
func Below(root int) []int {
	return numbers(below(root))
}

func numbers(found []pty.Process) []int {
	pids := make([]int, len(found))
	for i, p := range found {
		pids[i] = p.PID
	}
	return pids
}

func below(root int) []pty.Process { return withoutHosts(pty.Processes(root)) }

// withoutHosts leaves out hosts and shims and what is below them.
func withoutHosts(all []pty.Process) []pty.Process {
	foreign := map[int]bool{}
	for _, p := range all {
		if !foreign[p.PID] && IsHost(p.PID) {
			foreign[p.PID] = true
			for _, pid := range pty.Descendants(p.PID) {
				foreign[pid] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(p pty.Process) bool { return foreign[p.PID] })
}
