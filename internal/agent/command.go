package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/template"
	"time"

	"den/internal/base/fault"
)

// maxOutput bounds what is kept of a command's output: its end, where errors
// are.
const maxOutput = 16 << 10

// endWithKeeper runs a command and exits as it does. Its descriptor 3 is a pipe
// from this process, on which nothing is ever written: when it ends, so has
// this process, and the whole process group is killed, whatever it is doing.
// The command itself does not get the pipe.
const endWithKeeper = `(read -r _ <&3; kill -s KILL 0) & watch=$!
"$@" 3<&-
status=$?
kill -s KILL $watch
exit $status`

// runCommand runs one of the user's commands to its end and returns the end of
// what it printed. It and its children are killed when the context ends, and
// when this process does.
func runCommand(ctx context.Context, argv []string, dir string, env map[string]string) (string, error) {
	alive, held, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("run %q: %w", lastArg(argv), err)
	}
	defer held.Close()  // Best effort: nothing was written.
	defer alive.Close() // Best effort, as above.
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", endWithKeeper, "sh"}, argv...)...)
	cmd.ExtraFiles = []*os.File{alive}
	out := &tail{}
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, dir
	cmd.Env = os.Environ()
	for _, key := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// A child that stays behind with the pipe must not hold the start.
	cmd.WaitDelay = 500 * time.Millisecond
	err = cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return out.String(), nil
	case ctx.Err() != nil:
		return out.String(), fault.Errorf(fault.Timeout, "run %q: it did not end in time", lastArg(argv))
	}
	return out.String(), fmt.Errorf("run %q: %w", lastArg(argv), err)
}

func lastArg(argv []string) string { return argv[len(argv)-1] }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards the fields below
	data []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - maxOutput; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "…" + string(t.data)
	}
	return string(t.data)
}

// Beacon is the line by which a person finds an agent's conversation again
// among those of a coding agent's own list. prime is a line below it, or "".
func Beacon(workspace, agent string, at time.Time, prime string) string {
	line := fmt.Sprintf("[%s] %s . %s", workspace, agent, at.Format("2006-01-02T15:04:05"))
	if prime != "" {
		line += "\n\n" + prime
	}
	return line
}

// vars is what prompt files and set-up commands see.
type vars struct {
	City, Workspace string // the same
	Agent           string // the qualified name
	Dir, Name       string // its parts
	Session         string // the session's name
	WorkDir         string
	Index           int // of a pool's member, from 1; 0 for no member
}

// expand fills a template of the user's. A field that does not exist is an
// error, not an empty word.
func expand(what, text string, v vars) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	var out strings.Builder
	t, err := template.New(what).Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(&out, v)
	}
	if err != nil {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "expand %s: %w", what, err),
			"the fields are City, Workspace, Agent, Dir, Name, Session, WorkDir and Index")
	}
	return out.String(), nil
}
