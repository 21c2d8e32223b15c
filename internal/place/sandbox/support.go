package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/base/fault"
)

// Support is what this machine can hold a policy with.
type Support struct {
	// Landlock is the version of the kernel's interface, 0 for none.
	Landlock int `json:"landlock"`
	// Namespaces says how mount namespaces are made: "direct" for who has the
	// right to, "user" through a user namespace, "" for not at all.
	Namespaces string `json:"namespaces,omitempty"`
	// Unshare is the program that enters a user namespace: one that has many
	// threads, as every Go program, may not.
	Unshare string `json:"unshare,omitempty"`
	// Why says why there are no namespaces.
	Why string `json:"why,omitempty"`
}

const (
	direct = "direct"
	byUser = "user"
)

// The versions of Landlock that brought what a policy needs.
const (
	abiTruncate = 3
	abiScopes   = 6
	abiSockets  = 9 // connecting to sockets by their path
)

// Hides reports whether what is not granted is not there at all.
func (s Support) Hides() bool { return s.Namespaces != "" }

// Enough returns why a policy cannot be held here, nil if it can.
func (s Support) Enough(p Policy) error {
	refuse := func(hint, format string, args ...any) error {
		return fault.Hintf(fault.Errorf(fault.Unsupported, "agent '%s' is to run in a sandbox, and "+format, append([]any{p.Agent}, args...)...), "%s", hint)
	}
	switch {
	case s.Landlock == 0:
		return refuse("use runs_in = \"container\", or sandbox = false", "this system has no Landlock (Linux 5.13 and later have, if it is enabled)")
	case !s.Hides() && s.Landlock < abiTruncate:
		return refuse("use runs_in = \"container\", or sandbox = false", "the kernel's Landlock is of version %d and no mount namespace can be made (%s): files could be emptied", s.Landlock, s.Why)
	case p.Network == NetworkLoopback && !s.Hides():
		return refuse("network = \"none\" and \"any\" need none", "a network with nothing but its own loopback needs a network namespace, which cannot be made here (%s)", s.Why)
	}
	protect, _, err := p.protected()
	if err != nil {
		return refuse("give it worktree = true or another dir", "what decides what git runs in its repository is not known: %w", err)
	}
	if s.Hides() {
		return nil
	}
	for _, path := range append(protect, p.Hide...) {
		if by := coveredBy(path, p.writable()); by != "" {
			return refuse("give it worktree = true or another dir", "it may write %s, where %s lies, which decides what runs: without a mount namespace (%s) that cannot be protected", by, path, s.Why)
		}
	}
	for _, dir := range p.Hide {
		if by := coveredBy(dir, p.Read); by != "" {
			return refuse("grant less than "+by, "it may read %s, where den keeps its own files: without a mount namespace (%s) these cannot be hidden", by, s.Why)
		}
	}
	return nil
}

// Tell says what holds a policy here, and what does not, in words.
func (s Support) Tell(p Policy) []string {
	files := fmt.Sprintf("files: held by Landlock %d and a mount namespace; what is not granted is not there", s.Landlock)
	if !s.Hides() {
		files = fmt.Sprintf("files: held by Landlock %d; names, sizes, modes and times of other files can be seen, and those of your own changed (no mount namespace: %s)", s.Landlock, s.Why)
	}
	told := []string{files, "network " + p.Network + ": " + s.tellNetwork(p.Network)}
	var open []string
	if s.Landlock < abiScopes {
		open = append(open, "signals to your other processes")
		if p.Network == NetworkAny || !s.Hides() {
			open = append(open, "abstract unix sockets")
		}
	}
	if _, keep, _ := p.protected(); !s.Hides() && len(keep) > 0 {
		open = append(open, "changes of "+strings.Join(keep, ", "))
	}
	if !s.Hides() && s.Landlock < abiSockets {
		told = append(told, "unix sockets: none can be made; programs that need one do not work")
	}
	if len(open) > 0 {
		told = append(told, "not held: "+strings.Join(open, "; "))
	}
	return told
}

func (s Support) tellNetwork(network string) string {
	switch network {
	case NetworkNone:
		return "no socket of the internet protocols can be made"
	case NetworkLoopback:
		return "a network namespace with a loopback of its own; that of this machine is not reached"
	}
	return "not limited"
}

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
