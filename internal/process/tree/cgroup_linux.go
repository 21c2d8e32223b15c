package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"

	"golang.org/x/sys/unix"
)

// cgroupPrefix begins the names of the cgroups of trees. They are below the one
// that den was started in, and none is below another: one must not end with
// the other.
const cgroupPrefix = "den-session-"

// cgroupMounts are where the second version of cgroups is mounted: alone, or
// beside the first.
var cgroupMounts = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}

// Cgroup is a cgroup of one tree: whatever its processes do to their parents
// and environments, they stay in it. The zero Cgroup is none.
type Cgroup struct {
	Path string // its directory
}

// NewCgroup makes a cgroup for the tree of the session with this Mark. Where this process may
// not make one, it returns the zero Cgroup: trees are then found by scanning.
func NewCgroup(mark string) Cgroup {
	c := SessionCgroup(mark)
	if c.Path == "" || os.Mkdir(c.Path, 0o755) != nil {
		return Cgroup{} // there is none, or it is read-only, or somebody else's: not an error
	}
	if _, err := os.Stat(filepath.Join(c.Path, "cgroup.kill")); err != nil {
		c.Remove() // the kernel is older than 5.14
		return Cgroup{}
	}
	return c
}

// SessionCgroup is the cgroup that NewCgroup makes for a session here; it may
// not exist. It is the zero Cgroup where there can be none.
func SessionCgroup(mark string) Cgroup {
	base := cgroupBase()
	if base == "" {
		return Cgroup{}
	}
	return Cgroup{Path: filepath.Join(base, cgroupPrefix+mark)}
}

// cgroupBase is the directory of this process's cgroup, or of the one that the
// outermost den was started in. It is empty where there is none.
func cgroupBase() string {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	own, ok := unifiedPath(raw)
	if !ok {
		return ""
	}
	for _, mount := range cgroupMounts {
		var st unix.Statfs_t
		if unix.Statfs(mount, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
			return filepath.Join(mount, own)
		}
	}
	return ""
}

// unifiedPath reads the line of the second version ("0::/path") from a cgroup
// file, and cuts off where a session's cgroup begins.
func unifiedPath(file []byte) (path string, ok bool) {
	for line := range bytes.Lines(file) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "0::"); ok {
			outer, _, _ := strings.Cut(path, "/"+cgroupPrefix)
			return "/" + strings.Trim(outer, "/"), filepath.IsAbs(path) && !strings.Contains(path, "..")
		}
	}
	return "", false
}

// Open returns the directory, for a child to be started in it. It is nil where
// there is no cgroup.
func (c Cgroup) Open() (*os.File, error) {
	if c.Path == "" {
		return nil, nil
	}
	dir, err := os.Open(c.Path)
	if err != nil {
		return nil, fmt.Errorf("open cgroup: %w", err)
	}
	return dir, nil
}

// Belongs reports whether this is a cgroup that NewCgroup made for the
// session. A record may have been written by somebody else.
func (c Cgroup) Belongs(mark string) bool {
	return filepath.Clean(c.Path) == c.Path && filepath.Base(c.Path) == cgroupPrefix+mark && strings.HasPrefix(c.Path, cgroupMounts[0]+"/")
}

// own lists the live processes in the cgroup, but for this one. Hosts that were
// started there have left it, so all are the tree's, whatever they say that
// they are.
func (c Cgroup) own() []pty.Process {
	self := os.Getpid()
	return slices.DeleteFunc(c.processes(), func(p pty.Process) bool { return p.PID == self })
}

func (c Cgroup) processes() []pty.Process {
	if c.Path == "" {
		return nil
	}
	var found []pty.Process
	for _, pid := range c.members() {
		if p, ok := pty.Lookup(pid); ok {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil
	}
	// One that ended before the lookup may have left its number to another.
	still := map[int]bool{}
	for _, pid := range c.members() {
		still[pid] = true
	}
	return slices.DeleteFunc(found, func(p pty.Process) bool { return !still[p.PID] })
}

// members lists the numbers of the processes in the cgroup.
func (c Cgroup) members() []int {
	raw, err := os.ReadFile(filepath.Join(c.Path, "cgroup.procs"))
	if err != nil {
		return nil // it is gone, and they are with it
	}
	var pids []int
	for word := range strings.FieldsSeq(string(raw)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 { // a process of another namespace has 0
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill kills every process in the cgroup at once, with all that they fork
// meanwhile. Where this one is among them, each is killed on its own.
func (c Cgroup) kill() error {
	own := c.own()
	if len(own) == 0 {
		return nil
	}
	if len(own) < len(c.processes()) {
		for _, p := range own {
			send(p, unix.SIGKILL)
		}
		return nil
	}
	err := os.WriteFile(filepath.Join(c.Path, "cgroup.kill"), []byte("1"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("kill cgroup: %w", err)
	}
	return nil
}

// Sweep kills what is left in the cgroup of a tree whose holder is gone, and
// removes the cgroup. It returns how many processes it killed.
func (c Cgroup) Sweep() (killed int, err error) {
	for deadline := time.Now().Add(KillLimit); ; time.Sleep(200 * time.Microsecond) {
		left := c.own()
		if len(left) == 0 && !c.populated() {
			break
		}
		killed = max(killed, len(left))
		if err := c.kill(); err != nil {
			return killed, err
		}
		if len(left) == 0 && len(c.processes()) > 0 {
			return killed, nil // this process is there
		}
		if time.Now().After(deadline) {
			return killed, fault.Errorf(fault.Busy, "processes %v do not end, even when killed", numbers(left))
		}
	}
	c.Remove()
	return killed, nil
}

func (c Cgroup) populated() bool {
	raw, err := os.ReadFile(filepath.Join(c.Path, "cgroup.events"))
	return err == nil && bytes.Contains(raw, []byte("populated 1"))
}

// Remove removes the cgroup, unless it has processes.
func (c Cgroup) Remove() {
	if c.Path != "" {
		unix.Rmdir(c.Path) // Best effort: see above.
	}
}

// RemoveEmptyCgroups removes the cgroups of sessions, below this process's own,
// that were created before the given time and have no processes: nobody else
// removes them when the session's Home was deleted. A newer one may belong to a
// session whose program is about to start.
func RemoveEmptyCgroups(before time.Time) error {
	base := cgroupBase()
	if base == "" {
		return nil
	}
	return removeEmptyCgroups(base, before)
}

func removeEmptyCgroups(base string, before time.Time) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return fmt.Errorf("list cgroups: %w", err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), cgroupPrefix) || !fi.ModTime().Before(before) {
			continue
		}
		Cgroup{Path: filepath.Join(base, e.Name())}.Remove() // the kernel refuses one that has processes
	}
	return nil
}

// outsideSessions is the cgroup for a process that is to outlive the session
// in which it is started, or nil where this process is in none.
func outsideSessions() *os.File {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || !bytes.Contains(raw, []byte("/"+cgroupPrefix)) {
		return nil
	}
	dir, err := os.Open(cgroupBase())
	if err != nil {
		return nil
	}
	return dir
}
