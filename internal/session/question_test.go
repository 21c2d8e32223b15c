package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

const threeQuestions = `for q in one two three; do read -p "$q? " a; echo "got $a"; done`

// expectQuestion checks that a cell asks this, and that poll says so too.
func expectQuestion(t *testing.T, s *session.Session, r cell.Result, question string) {
	t.Helper()
	if r.WaitingFor != cell.ForInput || r.Question != question || !strings.HasSuffix(r.Output, question+" ") {
		t.Fatalf("got %+v, want the question %q", r, question)
	}
	polled, err := s.Poll(r.CellID)
	if err != nil || polled.WaitingFor != cell.ForInput || polled.Question != question || polled.Output != r.Output {
		t.Fatalf("poll: %+v %v", polled, err)
	}
}

// TestEveryQuestion answers three questions of one cell.
func TestEveryQuestion(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	run := session.Run{Code: threeQuestions, Timeout: patience}
	r, err := s.Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for i, question := range []string{"one?", "two?", "three?"} {
		expectQuestion(t, s, r, question)
		answer := string(rune('1' + i))
		if r, err = s.Answer(t.Context(), wire.Input{Text: &answer, Enter: true}, session.Run{Timeout: patience}); err != nil {
			t.Fatal(err)
		}
	}
	if r.Status != cell.Done || r.WaitingFor != "" || r.Question != "" || !strings.HasSuffix(r.Output, "three? 3\ngot 3") {
		t.Errorf("got %+v", r)
	}
	if asked := askedIn(t, s); strings.Join(asked, " ") != "one? two? three?" {
		t.Errorf("events: %q", asked)
	}
}

// askedIn returns the questions in the session's events so far.
func askedIn(t *testing.T, s *session.Session) (asked []string) {
	t.Helper()
	done := errors.New("done")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := s.Events(ctx, 0, func(e session.Event) error {
		switch {
		case e.Status == cell.Asking:
			asked = append(asked, e.Question)
		case e.CellEnded():
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Fatal(err)
	}
	return asked
}

// TestQuestionBehindAQuestion checks that a question which comes without an
// answer to the one before is told, and that an answer to that one is not typed.
func TestQuestionBehindAQuestion(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	r, err := s.Run(t.Context(), session.Run{Code: `read -t 2 -p "Continue? " a; read -p "Format disk? " b; echo "b is '$b'"`, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	expectQuestion(t, s, r, "Continue?")
	expectText(t, s, "Continue? Format disk?")
	again, err := s.Answer(t.Context(), line("yes"), session.Run{Timeout: patience, Question: "Continue?"})
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "Format disk?") {
		t.Fatalf("an answer to the first question: %+v %v", again, err)
	}
	second := "Continue? Format disk?" // read ends no line at its limit
	polled, err := s.Poll(r.CellID)
	if err != nil || polled.WaitingFor != cell.ForInput || polled.Question != second {
		t.Fatalf("poll: %+v %v", polled, err)
	}
	again, err = s.Answer(t.Context(), line("no"), session.Run{Timeout: patience, Question: second})
	if err != nil || again.Status != cell.Done || !strings.HasSuffix(again.Output, "b is 'no'") {
		t.Fatalf("the answer: %+v %v", again, err)
	}
	if asked := askedIn(t, s); len(asked) != 2 {
		t.Errorf("events: %q", asked)
	}
}

// TestTypedAnswer checks that a question which was answered by other means is
// not reported while the program works, and that the next one is.
func TestTypedAnswer(t *testing.T) {
	t.Parallel()
	s, dir := startShell(t, []string{"bash", "--norc"})
	runCell(t, s, "mkfifo gate")
	r, err := s.Run(t.Context(), session.Run{Code: `read -p "one? " a; cat gate; read -p "two? " b`, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	expectQuestion(t, s, r, "one?")
	if _, err := s.Input(t.Context(), line("1")); err != nil {
		t.Fatal(err)
	}
	if polled, err := s.Poll(r.CellID); err != nil || polled.WaitingFor != "" || polled.Question != "" {
		t.Errorf("behind the answer: %+v %v", polled, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gate"), []byte("open\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for r.Question != "two?" && t.Context().Err() == nil {
		if r, err = s.Poll(r.CellID); err != nil {
			t.Fatal(err)
		}
	}
	expectQuestion(t, s, r, "two?")
}

// TestAnswerNothing checks that nothing is typed where nobody asks.
func TestAnswerNothing(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	yes := wire.Input{Keys: []string{"y"}}
	if _, err := s.Answer(t.Context(), yes, session.Run{}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("without a cell: %v", err)
	}
	if _, err := s.Fire(t.Context(), "sleep 1000", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), wire.Wait{Text: ptr("sleep 1000"), Timeout: patience}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Answer(t.Context(), yes, session.Run{}); fault.KindOf(err) != fault.Busy {
		t.Errorf("to a cell that asks nothing: %v", err)
	}
	if _, err := s.Interrupt(t.Context(), session.Run{Timeout: patience}); err != nil {
		t.Fatal(err)
	}
	if r := runCell(t, s, "echo clean"); r.Output != "clean" {
		t.Errorf("got %+v", r)
	}
}

// TestAwaitCodeThatIsNotSentYet waits again for a cell whose first caller went
// while the shell still ran its start-up file.
func TestAwaitCodeThatIsNotSentYet(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	rc := filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(rc, []byte("read x < "+gate+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := start(t, session.Options{}, "bash", "--rcfile", rc)
	r, err := s.Run(t.Context(), session.Run{Code: "echo sent", Timeout: time.Millisecond})
	if err != nil || r.Status != cell.TimedOut || r.WaitingFor != cell.ForProgram {
		t.Fatalf("the first caller: %+v, %v", r, err)
	}
	for _, id := range []string{r.CellID, ""} {
		again, err := s.Await(t.Context(), id, session.Run{Timeout: 50 * time.Millisecond})
		if err != nil || again.CellID != r.CellID || again.Status != cell.TimedOut || again.WaitingFor != cell.ForProgram {
			t.Fatalf("a wait that was to end by its limit: %+v, %v", again, err)
		}
	}
	release(t, gate)
	for range 2 { // the second time it is over
		if r, err = s.Await(t.Context(), r.CellID, session.Run{Timeout: patience}); err != nil || r.Status != cell.Done || r.Output != "sent" {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	if _, err := s.Kill(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if r, err = s.Await(t.Context(), r.CellID, session.Run{Timeout: patience}); err != nil || r.Output != "sent" {
		t.Errorf("in a session that is over: %+v, %v", r, err)
	}
}

func ptr[T any](v T) *T { return &v }

// TestNodeAwaits checks that a REPL which pauses, and reads the terminal
// meanwhile, asks nothing.
func TestNodeAwaits(t *testing.T) {
	t.Parallel()
	need.Program(t, "node")
	s, _ := start(t, session.Options{}, "node")
	for _, code := range []string{
		"await new Promise(r => setTimeout(r, 1200))",
		"process.stdout.write('working… '); await new Promise(r => setTimeout(r, 1000))",
		"console.log('begun'); await new Promise(r => setTimeout(r, 2500)); 'slept'",
	} {
		begun := time.Now()
		r, err := s.Run(t.Context(), session.Run{Code: code, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != cell.Done || r.WaitingFor != "" {
			t.Errorf("%s: %+v after %v", code, r, time.Since(begun))
		}
		if strings.Contains(code, "slept") && !strings.HasSuffix(r.Output, "'slept'") {
			t.Errorf("%s: %q by %s", code, r.Output, r.By)
		}
	}
}

// TestGuessedQuestion checks that a cell which only may ask says so.
func TestGuessedQuestion(t *testing.T) {
	t.Parallel()
	need.Program(t, "node")
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "node")
	if r := runCell(t, s, "const fs = require('fs'); 'here'"); !strings.Contains(r.Output, "here") {
		t.Fatalf("got %+v", r)
	}
	code := "process.stdout.write('working… '); await fs.promises.readFile('" + gate + "', 'utf8')"
	r, err := s.Run(t.Context(), session.Run{Code: code, Timeout: 5 * time.Second})
	if err != nil || r.WaitingFor != "" && r.Certainty != cell.Guess {
		t.Errorf("got %+v %v", r, err)
	}
	release(t, gate)
	if r, err = s.Await(t.Context(), r.CellID, session.Run{Timeout: patience, KeepWaiting: true}); err != nil || r.Status != cell.Done {
		t.Errorf("got %+v %v", r, err)
	}
}
