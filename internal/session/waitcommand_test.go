package session_test

import (
	"fmt"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/wire"
)

// A wait for text ends when the command that could print it has ended, and tells
// its status: a command that was fired, is running, or was over before the wait.
func TestWaitEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	never := "never shown"
	s, _ := start(t, session.Options{}, "bash", "--norc")
	runCell(t, s, "true")
	wait := func(text string, limit time.Duration) *wire.WaitResult {
		t.Helper()
		r, err := s.Wait(t.Context(), wire.Wait{Text: &text, Timeout: limit, ByCommand: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ends := func(want int) {
		t.Helper()
		if r := wait(never, patience); r.Status != wire.WaitCommandEnded || r.Matched || r.ExitCode == nil || *r.ExitCode != want {
			t.Errorf("%+v, want the end of a command with %d", r, want)
		}
	}
	gate := fifo(t)
	if _, err := s.Fire(t.Context(), "(read x < "+gate+"; exit 7)", 0); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ends(7)
	}()
	release(t, gate)
	<-ended

	r, err := s.Fire(t.Context(), "(echo it failed; exit 8)", 0)
	if err != nil {
		t.Fatal(err)
	}
	awaitFinal(t, s, r.CellID)
	ends(8)
	if r := wait("it failed", patience); !r.Matched {
		t.Errorf("%+v", r)
	}

	// Nobody knows what a shell at rest will be given, and others may print yet.
	if _, err := s.Input(t.Context(), line("sleep 600 &")); err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"true", "kill %1; wait; true"} {
		if _, err := s.Fire(t.Context(), code, 0); err != nil {
			t.Fatal(err)
		}
		if code == "true" {
			if r := wait(never, 300*time.Millisecond); r.Status != wire.WaitTimeout {
				t.Errorf("beside a process in the background: %+v", r)
			}
		}
	}
	ends(0)
	runCell(t, s, "true")
	if r := wait(never, 300*time.Millisecond); r.Status != wire.WaitTimeout {
		t.Errorf("at rest: %+v", r)
	}
}

// awaitFinal waits until a cell that nobody waits for is over.
func awaitFinal(t *testing.T, s *session.Session, id string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		if r, err := s.Poll(id); err != nil || r.Final() {
			return
		}
	}
	t.Fatal("the cell does not end")
}

// A wait does not end with a command while more is on its way to the shell: what was
// typed ahead may print the text.
func TestWaitGoesOnWithTypedAhead(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	for i := range 100 {
		for _, code := range []string{"sleep 0.02; echo x y", "echo second", fmt.Sprintf("printf 'round %%d\\n' %d", i)} {
			if _, err := s.Input(t.Context(), line(code)); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("round %d", i)
		if r, err := s.Wait(t.Context(), wire.Wait{Text: &text, Timeout: patience, ByCommand: true}); err != nil || !r.Matched {
			t.Fatalf("round %d: %+v %v", i, r, err)
		}
	}
}
