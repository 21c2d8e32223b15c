package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"den/internal/fault"
	"den/internal/rpc"
)

// maxSocketPath is the shortest limit of the systems that den runs on,
// including the terminating zero.
const maxSocketPath = 104

// socketPath returns a short path for a session's socket, whatever the length
// of the Home's path, in a directory that only this user can enter.
func socketPath(home Home, id string, getenv func(string) string) (string, error) {
	return RunPath(socketKey(home, id), getenv)
}

func socketKey(home Home, id string) string { return home.Path + "\x00" + id }

// RunPath returns a short path for the socket identified by key, in this
// user's run directory.
func RunPath(key string, getenv func(string) string) (string, error) {
	var first error
	for _, dir := range runDirs(getenv) {
		path := filepath.Join(dir, runName(key))
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

// runName is the name of key's socket in a run directory.
func runName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// runDirs lists where sockets may be, the preferred directory first.
func runDirs(getenv func(string) string) []string {
	if dir := getenv("DEN_RUN_DIR"); dir != "" {
		return []string{dir}
	}
	var dirs []string
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			dirs = append(dirs, filepath.Join(dir, "den"))
		}
	}
	return append(dirs, "/tmp/den-"+strconv.Itoa(os.Getuid()))
}

// RemoveSocket removes the socket identified by key, if its server was killed
// and left it. The path is computed: a record may have been written by somebody
// else, and would let them name any file. A socket in a run directory that this
// process's environment does not name stays.
func RemoveSocket(key string, getenv func(string) string) error {
	var errs []error
	for _, path := range leftInRunDirs(key, getenv) {
		errs = append(errs, rpc.RemoveSocket(path))
	}
	return errors.Join(errs...)
}

// leftInRunDirs lists the computed paths of key in this user's run directories.
// A directory that belongs to somebody else is not touched.
func leftInRunDirs(key string, getenv func(string) string) []string {
	var paths []string
	for _, dir := range runDirs(getenv) {
		if fi, err := os.Lstat(dir); err == nil && fi.IsDir() && isOwn(fi) {
			paths = append(paths, filepath.Join(dir, runName(key)))
		}
	}
	return paths
}

// isOwn reports whether the file belongs to this user.
func isOwn(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
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
	if !fi.IsDir() || !isOwn(fi) {
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
