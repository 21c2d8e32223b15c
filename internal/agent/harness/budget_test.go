package harness_test

import (
	"context"
	"den/internal/agent/conversation"
	"strings"
	"testing"
	"time"

	"den/internal/agent/budget"
	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/runner"
)

// spender is a driver whose agent uses tokens, fails, and is told twice of what
// it has used in a turn.
type spender struct{ limited }

func (spender) Open(context.Context, runner.Options) (runner.Session, error) {
	return &spenderSession{limitedSession: limitedSession{done: make(chan struct{})}}, nil
}

type spenderSession struct {
	limitedSession
	turns int
}

func (s *spenderSession) Turn(_ context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	s.turns++
	each(runner.Event{Kind: runner.Used, Usage: &runner.Usage{InputTokens: 50}})
	each(runner.Event{Kind: runner.Used, Usage: &runner.Usage{InputTokens: 90, OutputTokens: 10, CostUSD: 0.25}})
	if s.turns < 3 {
		return runner.Result{}, &runner.Failure{Class: runner.Overload, Message: "busy"}
	}
	return runner.Result{Text: "done", Usage: runner.Usage{InputTokens: 100, OutputTokens: 10, CostUSD: 0.5}}, nil
}

// What attempts use that fail is spent, and what a turn uses is counted once.
func TestFailedAttemptsAreSpent(t *testing.T) {
	w := newWorld(t)
	limits := budget.Limits{Hour: budget.Usage{Tokens: 1000, CostUSD: 4, Turns: 30}}
	a := w.start("worker", sayer, func(o *harness.Options) {
		o.Driver, o.Config.Backend, o.Config.Budget = spender{}, "limited", limits
	})
	conn, asker := w.dial("worker"), w.dial("worker")
	answered := make(chan error, 1)
	go func() {
		var answer conversation.Answer
		_, err := asker.Call(t.Context(), ipc.Request{Type: ipc.Converse, Message: "spend"}, &answer)
		answered <- err
	}()
	for waiting := true; waiting; { // den waits after each failure: do not
		select {
		case err := <-answered:
			if err != nil {
				t.Fatal(err)
			}
			waiting = false
		default:
			if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Resume}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.stop()
	ledger, err := budget.Open(a.state+"/budget.json", limits)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range ledger.Check(time.Now()).Lines {
		lines = append(lines, l.String())
	}
	if got, want := strings.Join(lines, "; "), "310 of 1k tokens in the last hour; 1 of 4 USD in the last hour; 3 of 30 turns in the last hour"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
