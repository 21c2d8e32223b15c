package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/base/fault"
)

// entryFile is a pipe of which the process that becomes the command holds an end
// until it is the command.
func (p Policy) entryFile() string { return filepath.Join(p.Private, "entry") }

// The pipe's first byte says that somebody holds it; what follows is why the
// command could not be executed.
const entering = "\n"

// An Entry tells whether the next command in a sandbox was executed in it: until
// then a process that runs is not the agent's program.
type Entry struct {
	file string
	fd   int
	told []byte
}

// Await begins to wait for the next command. The entry must be closed.
func (p Policy) Await() (*Entry, error) {
	e := &Entry{file: p.entryFile()}
	err := os.Remove(e.file) // of a keeper that was killed
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = syscall.Mkfifo(e.file, 0o600)
	}
	if err == nil {
		e.fd, err = syscall.Open(e.file, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "sandbox of agent '%s': make %s: %w", p.Agent, e.file, err)
	}
	return e, nil
}

// Entered reports whether the command was executed, without waiting. An error
// says why it could not be.
func (e *Entry) Entered() (bool, error) {
	buf := make([]byte, 4096)
	for {
		n, err := syscall.Read(e.fd, buf)
		switch {
		case n > 0:
			e.told = append(e.told, buf[:n]...)
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return false, nil
		case err != nil:
			return false, fault.Errorf(fault.Storage, "read %s: %w", e.file, err)
		case len(e.told) > len(entering):
			why, hint, _ := strings.Cut(strings.TrimSpace(string(e.told)), "\n")
			return false, fault.Hintf(fault.Errorf(fault.NotRunning, "its program did not start: %s", why), "%s", hint)
		default:
			return len(e.told) > 0, nil // nobody holds the other end: any more, or yet
		}
	}
}

// Close ends the waiting.
func (e *Entry) Close() error {
	return errors.Join(syscall.Close(e.fd), os.Remove(e.file))
}
