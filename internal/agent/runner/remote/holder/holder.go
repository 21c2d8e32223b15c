// Package holder is the process that holds a command where an agent lives, such
// as its container.
//
// A session provider's Exec starts it there. It gets the command, its input and
// signals as frames on its standard input, and passes on the command's output
// and exit code. When its own input ends, whoever spawned the command is gone:
// the command is killed with all that it started. It is killed as well when the
// command ends, so that nothing is left behind.
package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/process/tree"
)

// Main is the whole process. args are those behind Verb. It returns the process
// status: the command's, or that of an error of its own.
func Main(args []string, stdin io.Reader, stdout, stderr *os.File) int {
	var err error
	switch {
	case len(args) == 0:
		// The kernel kills the command when the thread ends that started it.
		runtime.LockOSThread()
		var code int
		if code, err = hold(stdin, stdout, stderr); err == nil {
			return code
		}
	case len(args) == 1 && args[0] == ModePlace:
		stay(stdout)
	case len(args) == 2 && args[0] == ModeClean:
		err = clean(args[1], stdout)
	case len(args) > 2 && args[0] == ModeHost:
		var code int
		if code, err = startHost(args, stderr); err == nil {
			return code
		}
	default:
		err = fault.Errorf(fault.Usage, "'den %s' is for den itself", Verb)
	}
	if err != nil {
		fmt.Fprintln(stderr, "den hold:", err)
	}
	return fault.ExitCode(err)
}

// stay waits until it is told to end.
func stay(stdout io.Writer) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Fprintln(stdout, "An agent's processes run in this container. 'den ps' and 'den kernel list' tell what the agent does.")
	<-told
}

// clean kills what bears the mark.
func clean(mark string, stdout io.Writer) error {
	killed, err := tree.Sweep(context.Background(), tree.RunnerMark+"="+mark)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(Cleaned{Killed: killed})
}

// hold runs the command that comes first on stdin, to its end.
func hold(stdin io.Reader, stdout, stderr *os.File) (code int, err error) {
	// A reader of the output that has gone must not kill this process: caught,
	// the signal is an error of the write, and the command's own default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := tree.BecomeSubreaper(); err != nil {
		return 0, err
	}
	h, err := begin(stdin, stderr)
	if err != nil {
		return 0, errors.Join(err, json.NewEncoder(stdout).Encode(Started{V: Version, Kind: fault.KindOf(err), Error: err.Error()}))
	}
	_ = json.NewEncoder(stdout).Encode(Started{V: Version}) // where nobody is there to be told, stdin ends too
	return h.run(stdin, stdout)
}

// held is a command that runs.
type held struct {
	tree   *tree.Tree
	input  *input
	output *os.File
	stderr io.Writer
	gone   chan struct{} // closed when whoever spawned it is gone
}

// begin reads the command and starts it.
func begin(stdin io.Reader, stderr *os.File) (*held, error) {
	kind, content, err := ReadFrame(stdin)
	if err != nil || kind != FrameCommand {
		return nil, fault.Errorf(fault.Protocol, "read the command: frame %q: %v", kind, err)
	}
	var c Command
	if err := json.Unmarshal(content, &c); err != nil || c.V != Version {
		return nil, fault.Errorf(fault.Protocol, "read the command: version %d, this den knows %d: %v", c.V, Version, err)
	}
	path, env, err := c.resolve()
	if err != nil {
		return nil, err
	}
	return start(path, c.Argv, env, stderr)
}

// resolve finds the program and makes its environment. This process goes to the
// command's directory and takes its PATH, so that both are found as the command
// would find them.
func (c Command) resolve() (path string, env []string, err error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", nil, fault.Errorf(fault.Usage, "no command is given")
	}
	if c.Dir != "" {
		if err := os.Chdir(c.Dir); err != nil {
			return "", nil, fault.Errorf(fault.Usage, "start %s: %w", c.Argv[0], err)
		}
	}
	for key, value := range c.Env {
		if err := os.Setenv(key, value); err != nil {
			return "", nil, fault.Errorf(fault.Usage, "start %s: variable %q: %w", c.Argv[0], key, err)
		}
	}
	if c.Path != "" {
		os.Setenv("PATH", strings.TrimSuffix(c.Path+":"+os.Getenv("PATH"), ":")) // Best effort: it fails for names that are none.
	}
	path, err = exec.LookPath(c.Argv[0])
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", nil, fault.Errorf(fault.NotFound, "start %s: %w", c.Argv[0], err)
	case err != nil:
		return "", nil, fault.Errorf(fault.Internal, "start %s: %w", c.Argv[0], err)
	}
	env = os.Environ()
	if dir, err := os.Getwd(); err == nil {
		env = append(slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") }), "PWD="+dir)
	}
	return path, env, nil
}

// start runs the program with pipes for its input and output. Its errors go
// where this process's go.
func start(path string, argv, env []string, stderr *os.File) (*held, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	defer inR.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", argv[0], err), inW.Close())
	}
	defer outW.Close()
	attr := &syscall.ProcAttr{
		Env: env, Files: []uintptr{inR.Fd(), outW.Fd(), stderr.Fd()}, // Fd makes them block, as programs expect
		Sys: childAttr(),
	}
	var pid int
	if err = pty.CloseOnExec(); err == nil {
		pid, err = pty.ForkExec(path, argv, attr, nil)
	}
	if err != nil {
		return nil, errors.Join(fault.Errorf(fault.Internal, "start %s: %w", argv[0], err), inW.Close(), outR.Close())
	}
	return &held{
		tree: tree.Adopt(pid, tree.Cgroup{}), input: newInput(inW), output: outR, stderr: stderr,
		gone: make(chan struct{}),
	}, nil
}

// kill ends the command and all that it started.
func (h *held) kill() {
	if _, err := h.tree.End(0); err != nil {
		fmt.Fprintln(h.stderr, "den hold:", err)
	}
}

// run carries streams and signals until the command has ended, and returns its
// exit code. The reader of stdin ends with the process: it cannot be asked to
// stop reading.
func (h *held) run(stdin io.Reader, stdout io.Writer) (int, error) {
	stop := make(chan struct{})
	var parts sync.WaitGroup
	parts.Go(func() { h.tree.Reap(stop) })
	go h.input.run(stop) // ends with stop; it may wait in a write until the process ends
	go h.obey(stdin)     // as above
	passed := make(chan error, 1)
	go func() { // ends with the command's output, or with the process
		_, err := io.Copy(stdout, h.output)
		passed <- err
	}()
	select {
	case <-h.tree.Ended():
	case <-h.gone:
	}
	h.kill()
	<-h.tree.Ended()
	code := h.tree.Exit().Code
	select {
	case <-passed: // what nobody takes is lost with the one who should
	case <-h.gone:
	}
	close(stop)
	parts.Wait()
	return code, nil
}

// obey takes input and signals until whoever spawned the command is gone.
func (h *held) obey(stdin io.Reader) {
	defer close(h.gone)
	for {
		kind, content, err := ReadFrame(stdin)
		if err != nil {
			return
		}
		switch kind {
		case FrameInput:
			if !h.input.put(content) {
				fmt.Fprintf(h.stderr, "den hold: the command does not read its input: %d bytes wait; it is killed\n", maxInput)
				h.kill()
			}
		case FrameEnd:
			h.input.end()
		case FrameSignal:
			if len(content) == 1 {
				_ = h.tree.SignalGroup(syscall.Signal(content[0])) // it may have ended, which who signals learns anyway
			}
		}
	}
}
