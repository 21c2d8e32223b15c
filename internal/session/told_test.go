package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/cell"
)

// cellEvents returns what the log says of cells up to the end of the last one.
func cellEvents(t *testing.T, s *session.Session, last string) (all []session.Event) {
	t.Helper()
	done := errors.New("done")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := s.Events(ctx, 0, func(e session.Event) error {
		if e.CellID == "" || e.Status == string(cell.Fired) {
			return nil
		}
		all = append(all, e)
		if e.CellID == last && e.CellEnded() {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Fatal(err)
	}
	return all
}

// TestWhoIsTold checks that the log says which questions and ends a caller waited
// for.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	asks := `read -p "one? " a; read -p "two? " b`
	r, err := s.Run(t.Context(), session.Run{Code: asks, Timeout: patience}) // is told of one
	if err != nil {
		t.Fatal(err)
	}
	if r, err = s.Answer(t.Context(), line("1"), session.Run{NoWait: true}); err != nil || r.Status != cell.Fired {
		t.Fatalf("got %+v, %v", r, err)
	}
	for r.Question != "two?" && t.Context().Err() == nil { // nobody is
		if r, err = s.Poll(r.CellID); err != nil {
			t.Fatal(err)
		}
	}
	if r, err = s.Answer(t.Context(), line("2"), session.Run{Timeout: patience}); err != nil || r.Status != cell.Done { // is told of the end
		t.Fatalf("got %+v, %v", r, err)
	}
	waiter := make(chan error, 1)
	go func() { // is told of the end, and of no question
		_, err := s.Run(t.Context(), session.Run{Code: asks, Timeout: patience, KeepWaiting: true})
		waiter <- err
	}()
	for _, question := range []string{"one?", "two?"} {
		waitFor(t, s, question)
		if _, err := s.Answer(t.Context(), line("x"), session.Run{NoWait: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-waiter; err != nil {
		t.Fatal(err)
	}
	if r, err = s.Fire(t.Context(), "true", 0); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range cellEvents(t, s, r.CellID) {
		told := " nobody"
		if e.Told {
			told = " told"
		}
		got = append(got, e.Status+" "+e.Question+told)
	}
	want := []string{
		"asking one? told", "asking two? nobody", "done  told",
		"asking one? nobody", "asking two? nobody", "done  told",
		"done  nobody",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPeek checks that the output so far of code that runs can be seen, and that
// nobody counts as waiting for it.
func TestPeek(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "bash", "--norc")
	fired, err := s.Fire(t.Context(), "echo begun; cat "+gate, 0)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, s, "\nbegun")
	r, err := s.Peek(t.Context(), fired.CellID, session.Run{})
	if err != nil || r.Status != cell.Running || r.Output != "begun" {
		t.Errorf("got %+v, %v", r, err)
	}
	release(t, gate)
	if all := cellEvents(t, s, fired.CellID); len(all) != 1 || all[0].Told {
		t.Errorf("got %+v", all)
	}
	if r, err = s.Peek(t.Context(), fired.CellID, session.Run{}); err != nil || r.Status != cell.Done || r.Output != "begun\ngo" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestTimesOfEvents checks that they are the wall clock's, whatever the host's
// start took: events of several sessions are put in order by them.
func TestTimesOfEvents(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	r := runCell(t, s, "true")
	now := time.Now()
	rec, err := s.Cells().Load(r.CellID)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range cellEvents(t, s, r.CellID) {
		if e.Time.Before(rec.Started) || e.Time.After(now) {
			t.Errorf("the cell ended at %v, began at %v, and was told of at %v", e.Time, rec.Started, now)
		}
	}
}
