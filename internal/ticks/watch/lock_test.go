package watch_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/ticks/watch"
)

// lockVar makes the test binary a process that holds the lock that it names,
// until its input is closed.
const lockVar = "DEN_WATCH_LOCK"

func TestMain(m *testing.M) {
	path := os.Getenv(lockVar)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := watch.Acquire(path, watch.Holder{PID: os.Getpid(), What: "watch demo", Since: now}); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("held\n")
	io.Copy(io.Discard, os.Stdin) // Best effort: its end is what is waited for.
}

func TestLockOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockVar+"="+path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	h, held, err := watch.Held(path)
	if err != nil || !held || h.PID != cmd.Process.Pid || !h.Since.Equal(now) {
		t.Errorf("held by %v, %v, %v", h, held, err)
	}
	_, err = watch.Acquire(path, watch.Holder{PID: os.Getpid(), What: "watch demo"})
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), h.String()) {
		t.Errorf("the second: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // Best effort: it was killed.
	l, err := watch.Acquire(path, watch.Holder{PID: os.Getpid(), What: "watch demo"})
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, held, err := watch.Held(path); err != nil || held {
		t.Errorf("after the end: %v, %v", held, err)
	}
}

func TestHolderThatSaysNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := watch.Acquire(path, watch.Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(path, []byte(`{"pid":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, held, err := watch.Held(path); err != nil || !held || h.String() != "another process" {
		t.Errorf("%v, %v, %v", h, held, err)
	}
}
