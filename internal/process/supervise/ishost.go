package supervise

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"den/internal/process/pty"
)

// IsHost reports whether a process is a host, a shim or a keeper: den's own
// program, called and marked as one, that holds a lock, as of a session or of a
// workspace. Mark and arguments alone are what any program can choose for
// itself, to outlive its session.
func IsHost(pid int) bool {
	id, ok := pty.Env(pid, HostMark)
	return ok && slices.Contains(pty.Arguments(pid), id) && runsDen(pid) && holdsLock(pid)
}

// denPrograms are the main packages of the binaries that hosts, shims and
// keepers run. They may be of another version than this one.
var denPrograms = []string{"den/cmd/den", "den/cmd/dend"}

// runsDen reports whether a process runs this program, or den of any version.
func runsDen(pid int) bool {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	if theirs, err := os.Stat(exe); err == nil {
		if ours, err := os.Stat("/proc/self/exe"); err == nil && os.SameFile(theirs, ours) {
			return true
		}
	}
	info, err := buildinfo.ReadFile(exe)
	return err == nil && slices.Contains(denPrograms, info.Path)
}

// holdsLock reports whether a process holds a lock as package filelock makes
// them, by one of its descriptors.
func holdsLock(pid int) bool {
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	return err == nil && slices.ContainsFunc(infos, func(path string) bool {
		raw, err := os.ReadFile(path)
		return err == nil && bytes.Contains(raw, []byte("OFDLCK"))
	})
}
