package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
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
