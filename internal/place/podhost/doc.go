// Package podhost is den inside a pod: the pod's first process, and both ends of
// the stream that leads into the pod.
//
// The first process (Run) waits for an order, and then starts one session in a
// Home of the pod. When that session is over, it keeps the session's files until
// somebody has fetched them, and then exits as the session's program did. The pod
// needs nothing but den's own static binary.
//
// The keeper of the session reaches the pod by one stream, on which Connect
// serves any number of connections: to the session's host, to the first process,
// for commands, for an archive to unpack and for the session's files. A socket in
// the pod sends connections the other way, from an agent to its harness. In the
// pod of a keeper Connect serves den's verbs, for people elsewhere.
package podhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/base/fault"
)

// Verb is how den is told that it is in a pod: den pod MODE DIR.
const Verb = "pod"

// The modes.
const (
	ModeInstall = "install" // copy den's binary into DIR, for images that lack it
	ModeRun     = "run"     // be the pod's first process
	ModeConnect = "connect" // serve connections over stdin and stdout
	ModeVerbs   = "verbs"   // serve den's verbs over stdin and stdout; it has no DIR
	ModeExec    = "exec"    // replace this process by a command
)

// Main is the whole process. args are those behind Verb. It returns the process
// status.
func Main(args []string, version string, stdin, stdout, stderr *os.File) int {
	code, err := 0, error(nil)
	switch {
	case len(args) == 2 && args[0] == ModeInstall:
		err = Install(args[1])
	case len(args) == 2 && args[0] == ModeRun:
		code, err = Run(Place{Dir: args[1]}, version)
	case len(args) == 2 && args[0] == ModeConnect:
		err = Connect(Place{Dir: args[1]}, pollable(stdin), pollable(stdout))
	case len(args) == 1 && args[0] == ModeVerbs:
		err = Connect(Place{}, pollable(stdin), pollable(stdout))
	case len(args) == 3 && args[0] == ModeExec: // its directory is not needed
		code, err = Exec(args[2])
	default:
		err = fault.Errorf(fault.Usage, "'den %s' is for den itself", Verb)
	}
	if err != nil {
		fmt.Fprintln(stderr, "den pod:", err)
		if code == 0 {
			code = fault.ExitCode(err)
		}
	}
	return code
}

// Install copies this binary into a pod's directory, and dend, which serves 'den
// mcp' there, if it is beside it.
func Install(dir string) error {
	to := Place{Dir: dir}.Binary()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	const helper = "dend"
	err = copyProgram(filepath.Join(filepath.Dir(self), helper), filepath.Join(filepath.Dir(to), helper))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = copyProgram("/proc/self/exe", to)
	}
	if err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	return nil
}

// copyProgram copies a program, whole or not at all.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // Best effort: it was only read.
	part, err := os.CreateTemp(filepath.Dir(to), ".den-")
	if err != nil {
		return err
	}
	_, err = io.Copy(part, in)
	if err == nil {
		err = part.Chmod(0o755)
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		os.Remove(part.Name()) // Best effort.
	}
	return err
}

// ExecMark is the environment variable by which a command of ModeExec, and what
// it starts, are found again.
const ExecMark = "DEN_POD_EXEC"

// Command is one to run in a pod, beside its session.
type Command struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// WorkDir is used where Dir is empty, if it is there: a command may be what
	// makes it.
	WorkDir string   `json:"work_dir,omitempty"`
	Env     [][]byte `json:"env,omitempty"` // NAME=VALUE
	Mark    string   `json:"mark"`
}

// The codes by which shells tell that a command could not be run.
const (
	notExecutable = 126
	notThere      = 127
)

// Exec replaces this process by the command. It returns only an error, with the
// process's status.
func Exec(raw string) (int, error) {
	var c Command
	if err := json.Unmarshal([]byte(raw), &c); err != nil || len(c.Argv) == 0 {
		return 0, fault.Errorf(fault.Usage, "the command is not understood: %w", err)
	}
	for _, kv := range append(c.Env, []byte(ExecMark+"="+c.Mark)) {
		name, value, _ := strings.Cut(string(kv), "=")
		if err := os.Setenv(name, value); err != nil {
			return notExecutable, err
		}
	}
	dir := c.Dir
	if dir == "" {
		dir = "/"
		if _, err := os.Stat(c.WorkDir); err == nil {
			dir = c.WorkDir
		}
	}
	if err := os.Chdir(dir); err != nil {
		return notExecutable, err
	}
	if err := os.Setenv("PWD", dir); err != nil {
		return notExecutable, err
	}
	path, err := exec.LookPath(c.Argv[0])
	if err == nil {
		err = syscall.Exec(path, c.Argv, os.Environ())
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return notThere, err
	}
	return notExecutable, err
}

// pollable makes a stream of this process one whose Close ends a Read or a Write
// that waits. Streams that programs inherit are not. Without that a connect whose
// other end is silent would not end, and its connections would turn in circles,
// as long as nobody closes its input: a container engine that was restarted does
// not.
func pollable(f *os.File) *os.File {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return f
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd) // Best effort: the other is used.
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
