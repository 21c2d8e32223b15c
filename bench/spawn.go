package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// cleanEnv is the environment without what would tie a child to a session or
// a server around the benchmark.
func cleanEnv(extra ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DEN_") && !strings.HasPrefix(kv, "TMUX") {
			env = append(env, kv)
		}
	}
	return append(env, extra...)
}

var devNull = must(os.OpenFile(os.DevNull, os.O_RDWR, 0))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// timed runs a command from start to end and returns the milliseconds: what a
// caller on a command line waits. Everybody is spawned this one way.
func timed(env []string, argv ...string) (float64, error) {
	begun := time.Now()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: env, Files: []*os.File{devNull, devNull, devNull}})
	if err != nil {
		return 0, err
	}
	st, err := p.Wait()
	ms := time.Since(begun).Seconds() * 1000
	if err == nil && !st.Success() {
		err = fmt.Errorf("%s: %v", strings.Join(argv, " "), st)
	}
	return ms, err
}

// capture runs a command and returns its stdout; stderr goes into the error.
func capture(env []string, argv ...string) ([]byte, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var errs bytes.Buffer
	cmd.Env, cmd.Stderr = env, &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}

// helloSource is the least that a Go program can do: what a verb's start-up is
// held against.
const helloSource = `package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
`

// buildHello builds it as den is built, and returns its path.
func (b *bench) buildHello() (string, error) {
	source, binary := filepath.Join(b.tmp, "hello.go"), filepath.Join(b.tmp, "hello")
	if err := os.WriteFile(source, []byte(helloSource), 0o600); err != nil {
		return "", fmt.Errorf("build a hello world: %w", err)
	}
	cmd := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a hello world: %w: %s", err, out)
	}
	return binary, nil
}
