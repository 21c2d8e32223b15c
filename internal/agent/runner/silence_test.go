package runner_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/agent/runner"
)

// An answer that comes when the turn was given up for silent, but within the
// grace, is the answer.
func TestLateAnswerIsTaken(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), "", h)
	c.Silence, c.Grace = 50*time.Millisecond, time.Minute
	c.Driver = &puppet{turn: func(s *puppetSession, _ string, _ func(runner.Event)) (runner.Result, error) {
		<-s.interrupted
		return runner.Result{Text: "here it is"}, nil
	}}
	r := start(t, c)
	send(t, r, "m", "x")
	if got := h.await(t, 1); got[0] != "m: here it is" {
		t.Errorf("%q", got)
	}
}

// witness is a session that sees a command print whenever it is asked.
type witness struct {
	*puppetSession
	asked  atomic.Int32
	enough chan struct{} // closed when it was asked often
}

// often is how often a Runner asks in three times the silence of the test.
const often = 60

func (w *witness) Signs() string {
	n := w.asked.Add(1)
	if n == often {
		close(w.enough)
	}
	return fmt.Sprint(n)
}

// What a command prints that den runs for the agent is no silence.
func TestPrintingCommandIsNoSilence(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), "", h)
	c.Silence, c.Grace = 200*time.Millisecond, time.Minute
	var w *witness
	c.Driver = &puppet{
		as: func(s *puppetSession) runner.Session {
			w = &witness{puppetSession: s, enough: make(chan struct{})}
			return w
		},
		turn: func(s *puppetSession, _ string, _ func(runner.Event)) (runner.Result, error) {
			select {
			case <-s.interrupted:
				return runner.Result{Cancelled: true}, nil
			case <-w.enough:
				return runner.Result{Text: "built"}, nil
			}
		},
	}
	r := start(t, c)
	send(t, r, "m", "x")
	if got := h.await(t, 1); got[0] != "m: built" {
		t.Errorf("%q", got)
	}
}
