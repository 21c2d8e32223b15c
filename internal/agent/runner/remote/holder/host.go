package holder

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/process/tree"
)

// startHost starts den as the host of a session and returns when it serves, or
// has ended: then with its status. A host that serves outlives this process.
// args are those of den: the verb, the session's name, its ID and more.
func startHost(args []string, stderr *os.File) (code int, err error) {
	// The place may have been made by a host, and have the mark of that one.
	if err := os.Setenv(tree.HostMark, args[2]); err != nil {
		return 0, fault.Errorf(fault.Usage, "start a host: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this binary: %w", err)
	}
	os.Setenv("PATH", strings.TrimSuffix(filepath.Dir(self)+":"+os.Getenv("PATH"), ":")) // Best effort: it fails for names that are none.
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("start a host: %w", err)
	}
	defer null.Close()
	said, out, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("start a host: %w", err)
	}
	defer said.Close()
	var proc *os.Process
	if err = pty.CloseOnExec(); err == nil {
		proc, err = os.StartProcess(self, append([]string{"den"}, args...), &os.ProcAttr{
			Dir: "/", Env: os.Environ(), Files: []*os.File{null, out, stderr}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
	}
	out.Close() // Best effort: the host has its own.
	if err != nil {
		return 0, fault.Errorf(fault.Internal, "start a host: %w", err)
	}
	return awaitHost(proc, said)
}

// awaitHost waits until a host lets go of its output, as it does when it serves
// and when it ends.
func awaitHost(proc *os.Process, said io.Reader) (code int, err error) {
	if _, err := io.Copy(io.Discard, said); err != nil {
		return 0, fmt.Errorf("start a host: %w", err)
	}
	// A process that ends has closed all of its files; one that serves has
	// another in this one's place.
	if _, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/1", proc.Pid)); err == nil {
		return 0, proc.Release()
	}
	state, err := proc.Wait()
	if err != nil {
		return 0, fmt.Errorf("start a host: %w", err)
	}
	return state.ExitCode(), nil
}
