package home

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"den/internal/fault"
)

// maxSocketPath is the shortest limit of the systems that den runs on,
// including the terminating zero.
const maxSocketPath = 104

// socketPath returns a short path for a session's socket, whatever the length
// of the Home's path, in a directory that only this user can enter.
func socketPath(home Home, id string, getenv func(string) string) (string, error) {
	return RunPath(home.Path+"\x00"+id, getenv)
}

// RunPath returns a short path for the socket identified by key, in this
// user's run directory.
func RunPath(key string, getenv func(string) string) (string, error) {
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:8])
	var candidates []string
	if dir := getenv("DEN_RUN_DIR"); dir != "" {
		candidates = []string{dir}
	} else {
		if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
			if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
				candidates = append(candidates, filepath.Join(dir, "den"))
			}
		}
		candidates = append(candidates, "/tmp/den-"+strconv.Itoa(os.Getuid()))
	}
	var first error
	for _, dir := range candidates {
		path := filepath.Join(dir, name)
		err := usableRunDir(dir, path)
		if err == nil {
			return path, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", fault.Hintf(first, "name a short directory of your own with DEN_RUN_DIR")
}

func usableRunDir(dir, path string) error {
	if len(path) >= maxSocketPath {
		return fault.Errorf(fault.Usage, "socket path %s is %d bytes long; the system's limit is %d", path, len(path), maxSocketPath-1)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "create run directory: %w", err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("inspect run directory: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !fi.IsDir() || !ok || int(st.Uid) != os.Getuid() {
		return fault.Errorf(fault.Denied, "run directory %s belongs to somebody else", dir)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		// Ours, but open: an old umask. Close it.
		if err := os.Chmod(dir, 0o700); err != nil {
			return fault.Errorf(fault.Denied, "run directory %s is open to others: %w", dir, err)
		}
	}
	return nil
}
