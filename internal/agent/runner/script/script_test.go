package script_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/script"
	"den/internal/base/fault"
)

// open opens a session whose command is a script of the shell.
func open(t *testing.T, text string, change func(*runner.Options)) runner.Session {
	t.Helper()
	o := runner.Options{
		Spawn: local.Spawner{Mark: t.Name()}, Command: []string{"sh", "-c", text}, Dir: t.TempDir(), Env: map[string]string{"WHO": "ada"},
		Log: func(line string) { t.Log(line) },
	}
	if change != nil {
		change(&o)
	}
	s, err := script.Driver{}.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// turn runs one, and returns what happened in it.
func turn(ctx context.Context, s runner.Session, prompt string) (runner.Result, []runner.EventKind, error) {
	var kinds []runner.EventKind
	r, err := s.Turn(ctx, prompt, func(e runner.Event) { kinds = append(kinds, e.Kind) })
	return r, kinds, err
}

func TestAnswer(t *testing.T) {
	s := open(t, `read line; echo "$WHO was told: $line"; echo aside >&2; printf '\377 in %s\n\n' "$DEN_MIND_SESSION"`, nil)
	for _, prompt := range []string{"one", "two"} {
		r, kinds, err := turn(t.Context(), s, prompt)
		if want := "ada was told: " + prompt + "\n\uFFFD in " + s.ID(); err != nil || r.Text != want || r.Cancelled {
			t.Errorf("%+v, want %q; %v", r, want, err)
		}
		if !slices.Equal(kinds, []runner.EventKind{runner.Accepted, runner.Spoke}) {
			t.Errorf("%v", kinds)
		}
	}
	if s.ID() == "" {
		t.Error("it has no ID")
	}
	resumed := open(t, "true", func(o *runner.Options) { o.Resume = s.ID() })
	if resumed.ID() != s.ID() {
		t.Errorf("resumed as %s", resumed.ID())
	}
}

// A command that says nothing, or reads nothing of a long prompt, is heard out.
func TestSilentCommand(t *testing.T) {
	s := open(t, "exit 0", nil)
	r, kinds, err := turn(t.Context(), s, strings.Repeat("long ", 1<<20))
	if err != nil || r.Text != "" || !slices.Equal(kinds, []runner.EventKind{runner.Accepted}) {
		t.Errorf("%+v, %v, %v", r, kinds, err)
	}
}

// Of an answer that never stops the beginning is kept, and all of it is read.
func TestLongAnswer(t *testing.T) {
	s := open(t, `head -c 3000000 /dev/zero | tr '\0' x`, nil)
	r, _, err := turn(t.Context(), s, "x")
	if err != nil || len(r.Text) != 1<<20 {
		t.Errorf("%d bytes, %v", len(r.Text), err)
	}
}

func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		class runner.Class
		says  string
	}{
		"an exit code":    {"echo half an answer; echo no key >&2; exit 3", runner.Bug, "exit code 3 no key"},
		"it is killed":    {"kill -9 $$", runner.Gone, "exit code 137"},
		"it is ended":     {"kill -15 $$", runner.Gone, "exit code 143"},
		"no such command": {"exec no-such-command-at-all", runner.Bug, "exit code 127"},
	} {
		s := open(t, tt.text, nil)
		_, kinds, err := turn(t.Context(), s, "x")
		var f *runner.Failure
		if !errors.As(err, &f) || f.Class != tt.class || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %v", name, err)
		}
		if slices.Contains(kinds, runner.Spoke) {
			t.Errorf("%s: it spoke", name)
		}
		select {
		case <-s.Done():
			t.Errorf("%s: the session is over", name)
		default: // another turn may do better
		}
	}
	s := open(t, "", func(o *runner.Options) { o.Command = []string{"/no/such/program"} })
	var f *runner.Failure
	if _, _, err := turn(t.Context(), s, "x"); !errors.As(err, &f) || f.Class != runner.Bug {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := (script.Driver{}).Open(t.Context(), runner.Options{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("without a command: %v", err)
	}
}

// running begins a turn of a command that waits, and returns when it does.
func running(t *testing.T, ctx context.Context, text string) (runner.Session, <-chan ended) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, text+"; echo >"+pipe+"; sleep 1000; echo slept", nil)
	out := make(chan ended, 1)
	go func() { // ends with the turn
		r, _, err := turn(ctx, s, "x")
		out <- ended{r, err}
	}()
	if _, err := os.ReadFile(pipe); err != nil { // it blocks until the command writes
		t.Fatal(err)
	}
	return s, out
}

type ended struct {
	runner.Result
	err error
}

func TestInterrupt(t *testing.T) {
	s, out := running(t, t.Context(), "if [ -e again ]; then echo again; exit; fi; : >again; echo half")
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-out; got.err != nil || !got.Cancelled || got.Text != "half" {
		t.Errorf("%+v", got)
	}
	// Between two turns there is nothing to interrupt.
	if err := s.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
	if r, _, err := turn(t.Context(), s, "x"); err != nil || r.Cancelled || r.Text != "again" {
		t.Errorf("the next turn: %+v, %v", r, err)
	}
}

// The end of the context ends a command that does not want to end.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, out := running(t, ctx, "trap '' TERM INT HUP")
	cancel()
	if got := <-out; !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v", got)
	}
}

func TestClose(t *testing.T) {
	s, out := running(t, t.Context(), "trap '' TERM INT HUP")
	s.Close()
	s.Close()
	if got := <-out; got.err == nil {
		t.Errorf("%+v", got)
	}
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Error("the session goes on")
	}
	var f *runner.Failure
	if _, _, err := turn(t.Context(), s, "x"); !errors.As(err, &f) || f.Class != runner.Gone {
		t.Errorf("a turn of a closed session: %v", err)
	}
}
