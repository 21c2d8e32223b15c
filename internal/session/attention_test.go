package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/attention"
	"den/internal/session/wire"
)

// needs reads from the files of a session whether it needs a person.
func needs(t *testing.T, s *session.Session) attention.Attention {
	t.Helper()
	m, err := s.Dir.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	return s.Dir.Attention(m)
}

// awaitNote waits for an event with this status behind another one, and returns
// its number. No record is looked at before it was written: it is written
// first.
func awaitNote(t *testing.T, s *session.Session, after uint64, status string) (seq uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found := errors.New("found")
	err := s.Events(ctx, after, func(e session.Event) error {
		if e.Status == status {
			seq = e.Seq
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		t.Fatalf("no event %q: %v", status, err)
	}
	return seq
}

func enter(t *testing.T, s *session.Session, text string) {
	t.Helper()
	if _, err := s.Input(t.Context(), wire.Input{Text: &text, Enter: true}); err != nil {
		t.Fatal(err)
	}
}

// The host notes when its program waits and when it works; the end of work that
// somebody asked for is news until somebody looks.
func TestTurnsAreNoted(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "bash", "--norc")
	seq := awaitNote(t, s, 0, "waiting")
	if a := needs(t, s); a.State != attention.Ready || a.Source != "host" {
		t.Fatalf("a shell that nobody has used: %+v", a)
	}
	enter(t, s, "read x < "+gate)
	seq = awaitNote(t, s, seq, "working")
	if a := needs(t, s); a.State != attention.Busy {
		t.Fatalf("a shell at work: %+v", a)
	}
	release(t, gate)
	seq = awaitNote(t, s, seq, "waiting")
	if a := needs(t, s); a.State != attention.Done || a.Since.IsZero() {
		t.Fatalf("its turn is over: %+v", a)
	}
	if err := s.Dir.Look(time.Now()); err != nil {
		t.Fatal(err)
	}
	if a := needs(t, s); a.State != attention.Ready {
		t.Fatalf("somebody has looked: %+v", a)
	}

	// Who waits for it is told: that is no news.
	enter(t, s, "echo fin''ished; read x < "+gate)
	waitFor(t, s, "finished")
	seq = awaitNote(t, s, seq, "working")
	release(t, gate)
	awaitNote(t, s, seq, "waiting")
	if a := needs(t, s); a.State != attention.Ready {
		t.Errorf("its caller was told: %+v", a)
	}
}

// A cell that asks is asking; one whose end nobody waits for is news, and how it
// failed.
func TestCellsAreNoted(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	r, err := s.Run(t.Context(), session.Run{Code: `read -p "go on? " a`, Timeout: patience})
	if err != nil || !r.Asks() {
		t.Fatalf("%+v %v", r, err)
	}
	if a := needs(t, s); a.State != attention.Asking || a.What != "go on?" || a.Source != "cell" {
		t.Fatalf("a cell that asks: %+v", a)
	}
	yes := "yes"
	if r, err = s.Answer(t.Context(), wire.Input{Text: &yes, Enter: true}, session.Run{Timeout: patience}); err != nil || !r.Final() {
		t.Fatalf("%+v %v", r, err)
	}
	if a := needs(t, s); a.State.NeedsPerson() {
		t.Fatalf("it was answered: %+v", a)
	}
	if r, err = s.Run(t.Context(), session.Run{Code: "false", Timeout: patience}); err != nil || r.ExitCode == nil || *r.ExitCode != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if a := needs(t, s); a.State.NeedsPerson() {
		t.Fatalf("its caller was told that it failed: %+v", a)
	}
	for code, want := range map[string]attention.State{"(exit 3)": attention.Failed, "true": attention.Done} {
		if r, err = s.Fire(t.Context(), code, 0); err != nil {
			t.Fatal(err)
		}
		awaitCellEnd(t, s, r.CellID)
		a := needs(t, s)
		if a.State != want || want == attention.Failed && !strings.HasSuffix(a.What, "exit 3") {
			t.Fatalf("%q: %+v", code, a)
		}
	}
}

// The end of a cell that its caller waits for is no news, whatever was typed and
// told before it.
func TestCellBehindInputThatWasTold(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "bash", "--norc")
	seq := awaitNote(t, s, 0, "waiting")
	enter(t, s, "echo fin''ished")
	waitFor(t, s, "finished")
	told := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), session.Run{Code: "read x < " + gate, Timeout: patience})
		told <- err
	}()
	seq = awaitNote(t, s, seq, "working")
	release(t, gate)
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	awaitNote(t, s, seq, "waiting")
	if a := needs(t, s); a.State != attention.Ready {
		t.Errorf("its caller was told: %+v", a)
	}
}

// A program that works in silence and then waits in silence is found waiting.
func TestSilentTurnIsNoted(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "bash", "--norc")
	seq := awaitNote(t, s, 0, "waiting")
	enter(t, s, "read x < "+gate+"; read -s y")
	seq = awaitNote(t, s, seq, "working")
	release(t, gate)
	awaitNote(t, s, seq, "waiting")
}

// awaitCellEnd waits for the end of a cell, as the log tells it.
func awaitCellEnd(t *testing.T, s *session.Session, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found := errors.New("found")
	err := s.Events(ctx, 0, func(e session.Event) error {
		if e.CellID == id && e.CellEnded() {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		t.Fatal(err)
	}
}

// The end of a program is news until somebody looks, unless somebody killed it.
func TestEndsAreNoted(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]attention.State{"exit 3": attention.Failed, "exit 0": attention.Done} {
		s, _ := start(t, session.Options{}, "sh", "-c", command)
		if _, err := s.Wait(t.Context(), wire.Wait{Exit: true, Timeout: patience}); err != nil {
			t.Fatal(err)
		}
		if a := needs(t, s); a.State != want || want == attention.Failed && a.What != "exit 3" {
			t.Errorf("%s: %+v", command, a)
		}
		if err := s.Dir.Look(time.Now()); err != nil {
			t.Fatal(err)
		}
		if a := needs(t, s); a.State != attention.Over {
			t.Errorf("%s, and somebody has looked: %+v", command, a)
		}
	}
	s, _ := start(t, session.Options{}, "cat")
	if _, err := s.Kill(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if a := needs(t, s); a.State != attention.Over {
		t.Errorf("somebody killed it: %+v", a)
	}
}
