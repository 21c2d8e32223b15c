package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/place/workspace"
)

const (
	// maxSecret bounds a value that is read: no variable needs more.
	maxSecret = 64 << 10
	// secretTimeout bounds a command that prints one: it may ask a keyring,
	// but not a person.
	secretTimeout = 20 * time.Second
)

// ResolveEnv returns an environment's values, with its secrets read now, from
// their files and commands. Errors name the variable and its source, never a
// value.
func ResolveEnv(ctx context.Context, env workspace.Environment, dir string) (map[string]string, error) {
	values := map[string]string{}
	maps.Copy(values, env.Values)
	for _, name := range slices.Sorted(maps.Keys(env.Secrets)) {
		value, err := readSecret(ctx, env.Secrets[name], dir)
		if err != nil {
			return nil, fmt.Errorf("read the value of %s: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

func readSecret(ctx context.Context, s workspace.Secret, dir string) (string, error) {
	var data []byte
	var err error
	if s.File != "" {
		data, err = readSecretFile(s.File)
	} else {
		data, err = runSecretCommand(ctx, s.Command, dir)
	}
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case len(data) > maxSecret:
		return "", fault.Errorf(fault.Usage, "it is longer than %d KiB", maxSecret>>10)
	case value == "":
		return "", fault.Errorf(fault.Usage, "it is empty")
	case strings.ContainsRune(value, 0):
		return "", fault.Errorf(fault.Usage, "it holds a NUL byte, which no variable can")
	}
	return value, nil
}

func readSecretFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "%w", err)
	}
	defer f.Close() // Best effort: it was only read.
	return io.ReadAll(io.LimitReader(f, maxSecret+1))
}

func runSecretCommand(ctx context.Context, argv []string, dir string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out := &bytes.Buffer{}
	// What it says on stderr may hold the secret, and errors are kept and shown.
	cmd.Stdout, cmd.Stderr, cmd.Dir = &capped{to: out, left: maxSecret + 1}, nil, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 500 * time.Millisecond // a child that keeps the pipe must not hold the start
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return out.Bytes(), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fault.Hintf(fault.Errorf(fault.Timeout, "run %q: no value within %s", argv[0], secretTimeout),
			"the command must not wait for a person")
	}
	return nil, fault.Hintf(fmt.Errorf("run %q: %w", argv[0], err), "what it says on stderr is not kept: run the command yourself, in %s", dir)
}

// capped passes on the beginning of what is written to it and drops the rest.
type capped struct {
	to   *bytes.Buffer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.to.Write(p[:n])
	c.left -= n
	return len(p), nil
}

// minHidden is the length below which a value is too common to be hidden
// wherever it stands.
const minHidden = 4

// hideSecrets takes the values of an agent's secrets out of text that is kept
// or shown.
func hideSecrets(text string, env workspace.Environment, values map[string]string) string {
	for name := range env.Secrets {
		if value := values[name]; len(value) >= minHidden {
			text = strings.ReplaceAll(text, value, "(hidden)")
		}
	}
	return text
}
