package tick

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
)

// patient is a session whose turns end when they are interrupted.
type patient struct {
	interrupts chan struct{} // room for one: more are the same
	done       chan struct{}
}

func (p *patient) ID() string            { return "s" }
func (p *patient) Done() <-chan struct{} { return p.done }
func (p *patient) Close() runner.Exit    { return runner.Exit{} }

func (p *patient) Turn(ctx context.Context, _ string, _ func(runner.Event)) (runner.Result, error) {
	select {
	case <-p.interrupts:
		return runner.Result{Cancelled: true}, nil
	case <-ctx.Done():
		return runner.Result{}, ctx.Err()
	}
}

func (p *patient) Interrupt(context.Context) error {
	select {
	case p.interrupts <- struct{}{}:
	default:
	}
	return nil
}

// An interrupt that follows a prompt at once ends the turn, whatever of both
// the scheduler runs first.
func TestInterruptRightBehindThePrompt(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string { return map[string]string{"XDG_STATE_HOME": filepath.Dir(data)}[key] }
	in, err := instance.Open(registry.Instance{Name: "demo", Path: data}, getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	o := Options{Instance: in, Getenv: getenv, Log: slog.New(slog.DiscardHandler), Clock: time.Now}
	one := open(o, plan.First(1, time.Now(), "q", nil, plan.Limits{}), datarepo.DefaultConfig(), Lodging{})
	one.started = time.Now()
	for n := 1; n <= 200; n++ {
		session := &patient{interrupts: make(chan struct{}, 1), done: make(chan struct{})}
		one.mind.session = session
		one.perform(plan.Action{Kind: plan.Prompt, Turn: n, Text: "x"})
		one.perform(plan.Action{Kind: plan.Interrupt, Turn: n})
		select {
		case e := <-one.events:
			if e.Turn != n || e.Kind != plan.TurnEnded && e.Kind != plan.TurnFailed {
				t.Fatalf("turn %d: %+v", n, e.Event)
			}
		case <-time.After(time.Minute):
			t.Fatalf("turn %d goes on", n)
		}
		one.work.Wait()
	}
}
