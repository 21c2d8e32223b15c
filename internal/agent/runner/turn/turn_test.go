package turn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner/turn"
)

func TestRelay(t *testing.T) {
	var r turn.Relay[int]
	if r.Pass(1) {
		t.Error("a message was taken without a turn")
	}
	first, err := r.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Begin(); err == nil {
		t.Error("two turns at the same time")
	}
	passed := make(chan bool)
	go func() { passed <- r.Pass(2) }()
	if got, err := first.Next(t.Context()); got != 2 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if !<-passed {
		t.Error("the message was not taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := first.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	go func() { passed <- r.Pass(3) }() // nobody takes it: End lets it go
	first.End()
	if <-passed {
		t.Error("a turn that is over took a message")
	}
	second, err := r.Begin()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if _, err := second.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	second.End()
	third, err := r.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := third.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// Who waits for a turn to begin gets that turn, or hears that there is none.
func TestRelayTellsOfTheBegin(t *testing.T) {
	var r turn.Relay[int]
	if running, err := r.Begun(t.Context()); running != nil || err != nil {
		t.Errorf("without a turn: %v, %v", running, err)
	}
	type answer struct {
		running *turn.Turn[int]
		err     error
	}
	begun := make(chan answer)
	wait := func(ctx context.Context) {
		running, err := r.Begun(ctx)
		begun <- answer{running, err}
	}
	first, err := r.Begin()
	if err != nil {
		t.Fatal(err)
	}
	go wait(t.Context())
	first.Begun("t1")
	if got := <-begun; got.running != first || got.err != nil || got.running.Name() != "t1" {
		t.Errorf("a turn that begins: %+v", got)
	}
	first.End()
	second, err := r.Begin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if running, err := r.Begun(ctx); running != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v, %v", running, err)
	}
	go wait(t.Context())
	second.End()
	if got := <-begun; got != (answer{}) {
		t.Errorf("a turn that ends before it begins: %+v", got)
	}
}

func TestQuestions(t *testing.T) {
	ended := make(chan string, 100)
	q := turn.NewQuestions(func(ctx context.Context, r permission.Request) permission.Decision {
		if r.Tool == "quick" {
			return permission.Decision{Allow: true}
		}
		<-ctx.Done()
		ended <- r.Tool
		return permission.Decision{Allow: true}
	})
	answers := make(chan permission.Decision, 100)
	answer := func(d permission.Decision) { answers <- d }
	q.Ask("1", permission.Request{Tool: "quick"}, answer)
	if d := <-answers; !d.Allow {
		t.Errorf("%+v", d)
	}
	q.Ask("2", permission.Request{Tool: "slow"}, answer)
	q.Withdraw("2")
	q.Withdraw("nobody")
	if got := <-ended; got != "slow" {
		t.Errorf("%s ended", got)
	}
	for i := range 64 {
		q.Ask(fmt.Sprint("many", i), permission.Request{Tool: "many"}, answer)
	}
	q.Ask("one more", permission.Request{Tool: "quick"}, answer)
	if d := <-answers; d.Allow || d.Reason == "" {
		t.Errorf("one question too many: %+v", d)
	}
	q.WithdrawAll()
	q.Wait()
	if len(answers) != 0 || len(ended) != 64 {
		t.Errorf("%d answers to questions that were withdrawn, %d ended", len(answers), len(ended))
	}
}

// An agent that does not read holds up neither Send nor Close.
func TestReplies(t *testing.T) {
	var logged []string
	blocked := make(chan struct{}, 1000)
	r := turn.NewReplies(func(ctx context.Context, _ any) error {
		blocked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, func(line string) { logged = append(logged, line) })
	r.Send("first")
	<-blocked
	for range 129 {
		r.Send("more")
	}
	r.Close()
	if len(logged) != 1 || !strings.Contains(logged[0], "dropped") {
		t.Errorf("%q", logged)
	}
}

func TestSkipped(t *testing.T) {
	var logged []string
	s := turn.Skipped{Log: func(line string) { logged = append(logged, line) }}
	s.Total()
	s.Add("a")
	s.Add("a")
	for i := range 1000 {
		s.Add(fmt.Sprint("kind", i))
	}
	if len(logged) != 101 {
		t.Errorf("%d lines for 1001 kinds", len(logged))
	}
	s.Total()
	if last := logged[len(logged)-1]; !strings.Contains(last, `"a" 2`) || !strings.Contains(last, `"others" 901`) {
		t.Errorf("%.300s", last)
	}
}
