package tick_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/screen/eventlog"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/tick"
)

// indexed returns a tick of the instance as somebody else reads it.
func (w *world) indexed(number int) instance.Tick {
	w.Helper()
	t, err := w.o.Tick(number)
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// recorded demands that a terminal of a tick has a recording that shows a text.
func (w *world) recorded(t instance.Tick, name, text string) {
	w.Helper()
	one, err := t.Terminal(name)
	if err != nil {
		w.Fatal(err)
	}
	log, err := eventlog.OpenFile(one.Recording, func() (*os.File, error) { return w.o.Repo.Open(one.Recording) })
	if err != nil {
		w.Fatalf("terminal %s: %+v: %v", name, one, err)
	}
	var out strings.Builder
	for ev, err := range log.Events(0) {
		if err != nil {
			w.Fatal(err)
		}
		if data, ok := ev.Output(); ok {
			out.Write(data)
		}
	}
	if !strings.Contains(out.String(), text) {
		w.Errorf("terminal %s shows %q, and not %q", name, out.String(), text)
	}
}

// A tick has an index while it runs and when it has ended, with all of its
// terminals, also those that a number was used for twice.
func TestIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var during instance.Tick
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		for _, c := range []struct{ tool, arguments string }{
			{"login", ""}, {"type", `{"tty":0,"expect":"bash","text":"echo $((6*7)) of them"}`}, {"wait", `{"until":"42 of"}`}, {"close", `{"tty":0}`},
			{"open", `{"command":"echo the second; sleep 1000"}`}, {"wait", `{"until":"second"}`},
		} {
			if _, err := t.use(c.tool, c.arguments); err != nil {
				return runner.Result{}, err
			}
		}
		during = w.indexed(1)
		if _, err := t.use("close", `{"tty":0}`); err != nil {
			return runner.Result{}, err
		}
		r, err := t.say("I am done.")
		r.Usage.CostUSD = 0.25
		return r, err
	}}
	before := time.Now()
	w.tick(plan.Normal, plan.Cause{Kind: plan.ByTrigger, Reason: "a test"})
	if during.State != instance.TickRuns || !during.Ended.IsZero() || len(during.Terminals) != 2 || during.Terminals[0].Recording == "" || during.Terminals[1].Recording != "" || during.Terminals[1].Session == "" || !during.Terminals[1].Closed.IsZero() {
		t.Errorf("while it ran: %+v", during)
	}
	got := w.indexed(1)
	if got.State != instance.TickEnded || got.Outcome.Reason != plan.Normal || got.Began.Before(before.Add(-time.Second)) || !got.Ended.After(got.Began) || got.Reconstructed {
		t.Errorf("%+v", got)
	}
	if got.Runner != "puppet" || got.Turns != 1 || got.CostUSD != 0.25 || got.Last != "I am done." || len(got.Causes) != 1 || got.Causes[0].Reason != "a test" || got.Transcript != "system/logs/tick-001.jsonl" {
		t.Errorf("%+v", got)
	}
	for _, one := range got.Terminals {
		if one.Opened.IsZero() || !one.Closed.After(one.Opened) || one.Note != "" {
			t.Errorf("%+v", one)
		}
	}
	w.recorded(got, "0", "42 of them")
	w.recorded(got, "0-1", "the second")
	if one, _ := got.Terminal("0-1"); !strings.HasPrefix(one.Status, "exited") || one.Command != "echo the second; sleep 1000" {
		t.Errorf("%+v", one)
	}
}

// indexedAfterKill demands what is known of a tick that was killed and
// completed later: its end is not made up, and its terminals are there.
func (w *world) indexedAfterKill(number int, completed time.Time) {
	w.Helper()
	t := w.indexed(number)
	if t.State != instance.TickEnded || t.Reconstructed {
		w.Errorf("tick %d: %+v", number, t)
	}
	if t.Ended.IsZero() == t.Completed.IsZero() {
		w.Errorf("tick %d: it ended at %v, and was completed at %v", number, t.Ended, t.Completed)
	}
	if until, known := t.Until(); known == t.Ended.IsZero() || until.Before(t.Began) || until.After(completed) {
		w.Errorf("tick %d: until %v (%v), began %v, completed at %v", number, until, known, t.Began, completed)
	}
	for _, one := range t.Terminals {
		if one.Archive == "" || one.Recording == "" {
			w.Errorf("tick %d: %+v", number, one)
		}
	}
}

// A tick that was killed while the agent worked has its index, and the
// recordings of its terminals once it is completed.
func TestIndexOfAKilledTick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if said := w.runChild(killedInTurn); said != "" {
		t.Fatalf("it was not killed: %s", said)
	}
	w.released()
	cut := w.indexed(1)
	if cut.State != instance.TickCutOff || !cut.Ended.IsZero() || len(cut.Terminals) != 2 || cut.Terminals[1].Session == "" {
		t.Errorf("before it is completed: %+v", cut)
	}
	if _, found, err := tick.Complete(w.o); err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	w.indexedAfterKill(1, time.Now())
	got := w.indexed(1)
	if len(got.Terminals) != 2 || got.Outcome.Reason != plan.Crashed || !got.Ended.IsZero() {
		t.Errorf("%+v", got)
	}
	w.recorded(got, "1", "hello")
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	w.tick(plan.Normal)
	if again := w.indexed(1); len(again.Terminals) != 2 || again.State != instance.TickEnded {
		t.Errorf("after the next tick: %+v", again)
	}
}
