package command_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner/local"
	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/ticks/command"
)

const long = 5 * time.Minute // nothing here takes as long, unless it hangs

func run(t *testing.T, s command.Spec) (command.Result, error) {
	t.Helper()
	if s.Limit == 0 {
		s.Limit = long
	}
	if s.Keep == 0 {
		s.Keep = 1 << 10
	}
	return command.Run(t.Context(), local.Spawner{Mark: t.Name()}, s)
}

func shell(script string) []string { return []string{"sh", "-c", script} }

func TestEnds(t *testing.T) {
	for script, want := range map[string]command.Result{
		`echo out; echo err >&2; exit 3`: {Code: 3, Stdout: "out\n", Stderr: "err\n"},
		`cat; echo read`:                 {Stdout: "read\n"}, // its input has ended
		`kill -9 $$`:                     {Code: 137, Reason: "killed"},
		`printf 'a\377b'`:                {Stdout: "a\uFFFDb"},
	} {
		r, err := run(t, command.Spec{Argv: shell(script)})
		r.Took = 0
		if err != nil || r != want {
			t.Errorf("%s: %+v, %v; want %+v", script, r, err, want)
		}
	}
}

// Output beyond the bound is read, so that the command is not blocked, and
// dropped.
func TestFloodIsCut(t *testing.T) {
	r, err := run(t, command.Spec{Argv: shell(`i=0; while [ $i -lt 2000 ]; do echo "$i 0123456789012345678901234567890123456789012345678901234567890123456789"; i=$((i+1)); done; echo done >&2`), Keep: 100})
	if err != nil || r.Code != 0 || len(r.Stdout) != 100 || r.Stderr != "done\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

// At the limit everything that the command started ends, whatever it ignores
// and wherever it hides.
func TestLimitEndsTheTree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "up")
	r, err := run(t, command.Spec{
		Argv:  shell(`setsid sleep 1000 & (trap '' TERM HUP; sleep 1000) & trap '' TERM; echo up; : >"$UP"; sleep 1000 & wait; sleep 1000`),
		Env:   map[string]string{"UP": file},
		Limit: time.Second, Grace: 50 * time.Millisecond,
	})
	if err != nil || !r.TimedOut || r.Code != 137 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(file); err == nil && r.Stdout != "up\n" {
		t.Errorf("its output is %q", r.Stdout)
	}
	if left := pty.Marked(tree.RunnerMark + "=" + t.Name()); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

// A command that ends when it is told to is not killed.
func TestLimitTerminatesFirst(t *testing.T) {
	r, err := run(t, command.Spec{Argv: shell(`trap 'echo bye; exit 9' TERM; while :; do sleep 0.02; done`), Limit: 300 * time.Millisecond, Grace: long})
	if err != nil || !r.TimedOut || r.Code != 9 && r.Code != 143 { // 143: it was stopped before it got to the trap
		t.Errorf("%+v, %v", r, err)
	}
}

func TestContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	r, err := command.Run(ctx, local.Spawner{Mark: t.Name()}, command.Spec{Argv: shell(`sleep 1000`), Limit: long, Keep: 100})
	if !errors.Is(err, context.Canceled) || r.TimedOut {
		t.Errorf("%+v, %v", r, err)
	}
}

// A process that hides from the spawner and holds the output open does not keep
// Run from returning.
func TestHeldOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	r, err := run(t, command.Spec{Argv: shell(`env -i setsid sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 1000' "$PID" & while [ ! -e "$PID" ]; do :; done; echo over`), Env: map[string]string{"PID": file}})
	if err != nil || r.Code != 0 || r.Stdout != "over\n" {
		t.Errorf("%+v, %v", r, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL) // Best effort: it may have been found.
}

func TestCannotStart(t *testing.T) {
	if _, err := run(t, command.Spec{Argv: []string{"/no/such/program"}}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	script := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(script, []byte("echo no interpreter is named\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, command.Spec{Argv: []string{script}}); err == nil || !strings.Contains(err.Error(), "exec format error") {
		t.Errorf("%v", err)
	}
}
