package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"den/internal/ticks/plan"
)

var classes = []plan.Class{plan.AuthClass, plan.BillingClass, plan.QuotaClass, plan.OverloadClass, plan.ContextClass, plan.NoSessionClass, plan.BugClass, plan.GoneClass, plan.SilentClass, "unheard-of"}

// chance does something that may happen at any time.
func (w *world) chance(notices *int) {
	switch w.rng.IntN(24) {
	case 0:
		if w.rng.IntN(4) == 0 {
			w.kill()
		}
	case 1, 2:
		*notices++
		w.notify(fmt.Sprintf("n%03d", *notices))
	case 3:
		w.within(plan.Event{Kind: plan.Answering, Call: "c"})
	case 4:
		w.within(plan.Event{Kind: plan.Worked})
	case 5:
		w.replies()
	case 6:
		w.within(plan.Event{Kind: plan.Spoke, Text: "something"})
	case 7:
		w.within(plan.Event{Kind: plan.Used, Tokens: w.rng.Int64N(1_000_000), Window: 1_000_000, CostUSD: w.rng.Float64()})
	case 8:
		w.within(plan.Event{Kind: plan.Accepted})
	case 9:
		w.pass(w.now + time.Duration(w.rng.Int64N(int64(20*time.Minute))))
	case 10:
		w.give(plan.Event{Kind: plan.SessionGone})
	case 11:
		w.give(plan.Event{Kind: plan.TurnEnded, Turn: w.s.Turn.Number - 1, Text: "late"})
	case 12:
		if w.rng.IntN(20) == 0 {
			w.give(plan.Event{Kind: plan.Stop, Problem: "asked"})
		}
	case 13:
		if w.rng.IntN(20) == 0 {
			w.give(plan.Event{Kind: plan.Broken, Problem: "disk full"})
		}
	default:
		w.one()
	}
}

// replies has the model begin a reply, if a turn runs. The loop may hear of it
// when its first tool has answered, or may not know that it is another one.
func (w *world) replies() {
	if !w.turn {
		return
	}
	switch w.rng.IntN(4) {
	case 0:
		w.within(plan.Event{Kind: plan.Replied})
	case 1:
		w.learn()
		w.within(plan.Event{Kind: plan.Answering, Call: "early"})
		w.within(plan.Event{Kind: plan.Replied, Certain: true})
	default:
		w.reply()
	}
}

// one lets an action end, well or badly.
func (w *world) one() {
	if len(w.pending) == 0 {
		if at, ok := w.s.Due(); ok {
			w.pass(at)
		}
		return
	}
	a := w.pending[0]
	if w.rng.IntN(3) > 0 {
		w.answer()
		return
	}
	switch a.Kind {
	case plan.Open, plan.Prompt:
		w.fail(plan.Failure{Class: classes[w.rng.IntN(len(classes))], Message: "m", RetryAfter: time.Duration(w.rng.Int64N(3)) * time.Minute}, w.rng.IntN(2) == 0)
	case plan.CheckEnd:
		w.pending = w.pending[1:]
		w.give(plan.Event{Kind: plan.Checked, Check: plan.Check{LoggedIn: w.rng.IntN(2) == 0, Live: []int{1}}})
	case plan.RunHooks:
		w.pending = w.pending[1:]
		w.runHooks(a, w.rng.IntN(len(w.scripts)))
		w.kill()
	default:
		w.answer()
	}
}

// Whatever happens, and wherever the process is killed: the tick ends; each
// hook after the tick is started exactly once; no prompt follows the decision
// to end; prompts stay below the limit; what was acknowledged had been told,
// and the model had seen it; the causes are acknowledged if the model did
// something, and not before.
func TestLaws(t *testing.T) {
	const ticks = 1500
	reasons := map[plan.Reason]int{}
	for seed := range uint64(ticks) {
		w := newWorld(t, seed, plan.Limits{Turns: 12, Rounds: 3, Wall: 2 * time.Hour})
		w.mortal = true
		notices := 0
		w.begin()
		for range 400 {
			if w.s.Stage == plan.Done {
				break
			}
			w.chance(&notices)
		}
		w.finish()
		reasons[w.s.Outcome.Reason]++
		if got := w.hooks[string(plan.HookPostTick)]; !slices.Equal(got, w.scripts) {
			t.Fatalf("seed %d: hooks after the tick %v; killed at %v", seed, got, w.killed)
		}
		if w.acked != w.acted {
			t.Fatalf("seed %d: the causes were acknowledged: %v; the model did something: %v", seed, w.acked, w.acted)
		}
		if w.prompts > 12 {
			t.Fatalf("seed %d: %d prompts", seed, w.prompts)
		}
		if err := wellOrdered(w.done); err != nil {
			t.Fatalf("seed %d: %v in %v", seed, err, w.done)
		}
		if w.s.Outcome.Pauses() != (w.s.Outcome.Advice != "") {
			t.Fatalf("seed %d: %+v", seed, w.s.Outcome)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, r := range []plan.Reason{plan.Normal, plan.Fatal, plan.Limit, plan.ContextFull, plan.Interrupted, plan.Exhausted, plan.Crashed} {
		if reasons[r] == 0 {
			t.Errorf("no tick ended with %s: %v", r, reasons)
		}
	}
}

// wellOrdered checks that the end comes in order, and that nothing of the
// agent follows its beginning.
func wellOrdered(done []plan.ActionKind) error {
	order := []plan.ActionKind{plan.Close, plan.Finish, plan.Push, plan.Clean}
	last := -1
	for _, kind := range done {
		at := slices.Index(order, kind)
		if at >= 0 {
			if at < last || at > last+1 {
				return fmt.Errorf("%s after %s", kind, order[max(last, 0)])
			}
			last = at
		}
		if last >= 0 && slices.Contains([]plan.ActionKind{plan.Prompt, plan.Open, plan.CheckEnd, plan.Prepare}, kind) {
			return fmt.Errorf("%s after the tick was ended", kind)
		}
	}
	if last != len(order)-1 {
		return fmt.Errorf("no %s", order[last+1])
	}
	return nil
}

// A tick can be killed again while it is being recovered, any number of times.
func TestRecoverIsRepeatable(t *testing.T) {
	for _, stage := range []plan.ActionKind{plan.Begin, plan.Prepare, plan.RunHooks, plan.Open, plan.Prompt, plan.CheckEnd, plan.Close, plan.Finish, plan.Push, plan.Clean} {
		w := newWorld(t, 1, plan.Limits{})
		w.begin()
		w.until(stage)
		for range 3 {
			w.kill()
		}
		w.finish()
		if got := w.hooks[string(plan.HookPostTick)]; !slices.Equal(got, w.scripts) {
			t.Errorf("killed at %s: hooks after the tick %v", stage, got)
		}
		ended := slices.Contains([]plan.ActionKind{plan.Close, plan.Finish, plan.Push, plan.Clean}, stage)
		if want := map[bool]plan.Reason{true: plan.Normal, false: plan.Crashed}[ended]; w.s.Outcome.Reason != want {
			t.Errorf("killed at %s: %v, want %s", stage, w.s.Outcome, want)
		}
	}
	if s, actions := plan.Recover(plan.State{}); s.Stage != plan.Done || actions != nil {
		t.Errorf("a tick that was not begun: %s, %v", s.Stage, actions)
	}
}

var kinds = []plan.EventKind{
	plan.Start, plan.Begun, plan.Prepared, plan.HooksEnded, plan.Opened, plan.OpenFailed, plan.TurnEnded, plan.TurnFailed, plan.Checked, plan.Closed,
	plan.Finished, plan.Pushed, plan.Cleaned, plan.HookStarted, plan.Accepted, plan.Spoke, plan.Worked, plan.Active, plan.Used, plan.Compacting,
	plan.SessionGone, plan.Notified, plan.Answering, plan.Passed, plan.Stop, plan.Broken, plan.Replied, "unheard-of",
}

// FuzzNext gives events in any order, also those that nobody would send. The
// state can always be recorded and read, and recovered from.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 16, 6, 8, 9, 10, 13, 3, 11, 12})
	f.Add([]byte{0, 1, 2, 3, 4, 21, 22, 7, 23, 23, 24, 25})
	f.Fuzz(func(t *testing.T, script []byte) {
		s := plan.First(1, time.Time{}, "q", nil, plan.Limits{Turns: 5})
		for i, b := range script {
			e := plan.Event{
				Kind: kinds[int(b)%len(kinds)], Elapsed: time.Duration(i) * time.Minute, Turn: s.Turn.Number - int(b>>7), Text: "t", Tokens: int64(b) << 12, Window: 1 << 20,
				Hook: []plan.Hook{plan.HookPreTick, plan.HookPostTick}[int(b>>6)%2], Name: "h", Notices: []plan.Notice{{ID: string(rune(b)), Text: "n"}},
				Check: plan.Check{LoggedIn: b&32 != 0}, Gone: b&64 != 0, Certain: b&32 != 0,
			}
			if b&16 != 0 {
				e.Failure = &plan.Failure{Class: classes[int(b)%len(classes)]}
			}
			next, _ := plan.Next(s, e)
			if s.Outcome.Reason != "" && next.Outcome != s.Outcome {
				t.Fatalf("the outcome changed from %v to %v", s.Outcome, next.Outcome)
			}
			s = next
			data, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			read, err := plan.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if !read.Same(s) {
				t.Fatalf("recorded as\n%s", data)
			}
			if r, actions := plan.Recover(read); r.Stage != plan.Done && len(actions) == 0 {
				t.Fatalf("in stage %s there is nothing to recover: %v", r.Stage, actions)
			}
		}
	})
}

// FuzzDecode reads records that anything may have damaged.
func FuzzDecode(f *testing.F) {
	good, err := plan.First(1, time.Time{}, "q", nil, plan.Limits{}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"v":1,"stage":"turning","notices":[{}],"limits":{"wall_ns":-1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := plan.Decode(data)
		if err != nil {
			return
		}
		s, _ = plan.Recover(s)
		if at, ok := s.Due(); ok {
			t.Fatalf("a tick that is recovered waits until %v", at)
		}
	})
}
