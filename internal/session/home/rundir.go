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

	"den/internal/base/fault"
	"den/internal/base/rpc"
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
		path := filepath.Join(dir, RunName(key))
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

// runNameBytes is the length of a name in a run directory, before it is written
// in hexadecimal digits.
const runNameBytes = 8

// RunName is the name of key's socket in a run directory.
func RunName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:runNameBytes])
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
			paths = append(paths, filepath.Join(dir, RunName(key)))
		}
	}
	return paths
}

// CheckRunPath refuses a recorded path that is not of a socket as RunPath makes
// them: in a directory that only its owner, this user, can enter. A record may
// have been written by somebody else, who must not choose the socket that den
// connects to; it only says in which of the run directories the socket is, which
// the environments of its server and of its client need not agree on. Root may
// use everybody's.
func CheckRunPath(path string) error {
	name := filepath.Base(path)
	raw, err := hex.DecodeString(name)
	fi, derr := os.Lstat(filepath.Dir(path))
	switch {
	case !filepath.IsAbs(path) || err != nil || len(raw) != runNameBytes:
		return fault.Errorf(fault.Denied, "the recorded socket %q is not one of den's", path)
	case errors.Is(derr, fs.ErrNotExist):
		return nil // nobody listens there
	case derr != nil:
		return fault.Errorf(fault.KindOf(derr), "check the directory of socket %q: %w", path, derr)
	case !fi.IsDir() || fi.Mode().Perm()&0o077 != 0 || !isOwn(fi) && os.Geteuid() != 0:
		return fault.Errorf(fault.Denied, "the recorded socket %q is not in a run directory of this user", path)
	}
	return nil
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
