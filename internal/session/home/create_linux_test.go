package home_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/session/home"
)

// A session that is given up when its program has just begun leaves nothing of
// it, even if the program does not end with its terminal.
func TestCreateThatIsGivenUpLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	begun := filepath.Join(dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	// A host that has started its program and is not ready yet.
	host := filepath.Join(dir, "host")
	script := fmt.Sprintf(`#!/bin/sh
mark=$(sed 's/.*\(%[1]s=[^"]*\)".*/\1/')
env "$mark" setsid sh -c 'trap "" HUP; echo $$ >%[2]s; exec sleep 1000' &
exec sleep 1000
`, home.SessionMark, begun)
	if err := os.WriteFile(host, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := make(chan int, 1)
	go func() {
		raw, _ := os.ReadFile(begun)                           // Best effort: 0 fails the test below.
		pid, _ := strconv.Atoi(strings.TrimSpace(string(raw))) // Best effort, as above.
		program <- pid
		cancel()
	}()
	root := home.Home{Path: filepath.Join(dir, "home")}
	_, _, err := root.Create(ctx, home.Spec{Name: "s", Command: []string{"true"}, Cwd: dir, Cols: 80, Rows: 24}, host)
	if err == nil {
		t.Fatal("it was made")
	}
	pid := <-program
	if pid == 0 {
		t.Fatal("the program did not begin")
	}
	if p, ok := pty.Lookup(pid); ok {
		t.Errorf("the program runs on: %+v", p)
	}
	if left, err := os.ReadDir(filepath.Join(root.Path, "sessions")); err != nil || len(left) > 0 {
		t.Errorf("sessions: %v, %v", left, err)
	}
}
