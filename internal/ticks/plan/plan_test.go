package plan_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/ticks/plan"
)

func TestTickThatGoesWell(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	first := w.until(plan.Prompt)
	if first.Text != "Tick 7 starting.\n\nThis tick was begun by:\n- trigger: because" {
		t.Errorf("the first prompt is %q", first.Text)
	}
	w.finish()
	want := []plan.ActionKind{
		plan.Begin, plan.Prepare, plan.RunHooks, plan.Open, plan.Prompt, plan.AckCauses, plan.CheckEnd,
		plan.Close, plan.Finish, plan.RunHooks, plan.Push, plan.Clean,
	}
	if !slices.Equal(w.done, want) {
		t.Errorf("done %v, want %v", w.done, want)
	}
	if w.s.Outcome.Reason != plan.Normal || w.s.Outcome.Status() != plan.StatusNormal {
		t.Errorf("outcome %v", w.s.Outcome)
	}
	if w.s.LastText != "done" {
		t.Errorf("last text %q", w.s.LastText)
	}
}

// Every ending goes through the same stages, hooks after the tick among them.
func TestEndings(t *testing.T) {
	fail := func(class plan.Class, after time.Duration) func(*world) {
		return func(w *world) {
			for w.s.Outcome.Reason == "" {
				w.until(plan.Prompt)
				w.fail(plan.Failure{Class: class, Message: "said so", RetryAfter: after}, class == plan.GoneClass)
			}
		}
	}
	worked := func(then func(*world)) func(*world) {
		return func(w *world) {
			w.until(plan.Prompt)
			w.within(plan.Event{Kind: plan.Worked})
			then(w)
		}
	}
	for _, tt := range []struct {
		name   string
		limits plan.Limits
		do     func(*world)
		reason plan.Reason
		why    string
		pauses bool
	}{
		{"well", plan.Limits{}, func(w *world) { w.finish() }, plan.Normal, "", false},
		{"stopped before it began", plan.Limits{}, func(w *world) { w.give(plan.Event{Kind: plan.Stop, Problem: "SIGTERM"}) }, plan.Interrupted, "SIGTERM", false},
		{"stopped in a turn", plan.Limits{}, worked(func(w *world) { w.give(plan.Event{Kind: plan.Stop, Problem: "SIGINT"}) }), plan.Interrupted, "SIGINT", false},
		{"stopped in the check", plan.Limits{}, func(w *world) { w.until(plan.CheckEnd); w.give(plan.Event{Kind: plan.Stop}) }, plan.Interrupted, "", false},
		{"no container", plan.Limits{}, func(w *world) {
			w.until(plan.Prepare)
			w.pending = nil
			w.give(plan.Event{Kind: plan.Prepared, Problem: "no such image", Unusable: true})
		}, plan.Unprepared, "no such image", false},
		{"no runner", plan.Limits{}, func(w *world) {
			w.until(plan.Open)
			w.pending = nil
			w.give(plan.Event{Kind: plan.OpenFailed, Problem: "no such command", Unusable: true})
		}, plan.Fatal, "no such command", true},
		{"not logged in to the vendor", plan.Limits{}, fail(plan.AuthClass, 0), plan.Fatal, "auth", true},
		{"not paid for", plan.Limits{}, fail(plan.BillingClass, 0), plan.Fatal, "billing", true},
		{"quota, told when", plan.Limits{}, fail(plan.QuotaClass, 5*time.Hour), plan.Exhausted, "after 5h", false},
		{"quota, not told", plan.Limits{}, fail(plan.QuotaClass, 0), plan.Exhausted, "11 times", false},
		{"a bug", plan.Limits{}, fail(plan.BugClass, 0), plan.Exhausted, "3 times", false},
		{"gone again and again", plan.Limits{Retries: 2}, fail(plan.GoneClass, 0), plan.Exhausted, "3 times", false},
		{"first prompt too long", plan.Limits{}, fail(plan.ContextClass, 0), plan.Fatal, "context", true},
		{"context full", plan.Limits{}, worked(func(w *world) { w.fail(plan.Failure{Class: plan.ContextClass}, false) }), plan.ContextFull, "context", false},
		{"compaction", plan.Limits{}, worked(func(w *world) { w.within(plan.Event{Kind: plan.Compacting}) }), plan.ContextFull, "shorten", false},
		{"context at its end", plan.Limits{}, worked(func(w *world) { w.within(plan.Event{Kind: plan.Used, Tokens: 900_000, Window: 1_000_000}) }), plan.ContextFull, "90 %", false},
		{"too long", plan.Limits{Wall: time.Minute}, worked(func(w *world) { w.pass(time.Minute) }), plan.Limit, "took 1m", false},
		{"too expensive", plan.Limits{CostUSD: 2}, func(w *world) {
			a := w.until(plan.Prompt)
			w.turn, w.pending = false, nil
			w.give(plan.Event{Kind: plan.TurnEnded, Turn: a.Turn, Text: "x", CostUSD: 2.5})
		}, plan.Limit, "2.50", false},
		{"too expensive within a turn", plan.Limits{CostUSD: 2}, worked(func(w *world) {
			w.within(plan.Event{Kind: plan.Used, CostUSD: 1.5})
			w.within(plan.Event{Kind: plan.Used, CostUSD: 2.25})
		}), plan.Limit, "2.25 USD", false},
		{"too many replies within a turn", plan.Limits{Turns: 50}, worked(func(w *world) {
			for range 51 {
				w.within(plan.Event{Kind: plan.Replied})
			}
		}), plan.Limit, "50 turns", false},
		{"as many replies as it may", plan.Limits{Turns: 50}, worked(func(w *world) {
			for range 50 {
				w.within(plan.Event{Kind: plan.Replied})
			}
			w.finish()
		}), plan.Normal, "", false},
		{"too many turns", plan.Limits{Turns: 1}, func(w *world) { w.until(plan.CheckEnd); w.notify("n"); w.finish() }, plan.Limit, "1 turns", false},
		{"never met its end conditions", plan.Limits{Rounds: 2}, func(w *world) {
			for w.s.Outcome.Reason == "" {
				w.until(plan.CheckEnd)
				w.pending = nil
				w.give(plan.Event{Kind: plan.Checked, Check: plan.Check{LoggedIn: true, Live: []int{3}}})
			}
		}, plan.Limit, "after 2 rounds", false},
		{"den cannot go on", plan.Limits{}, worked(func(w *world) { w.give(plan.Event{Kind: plan.Broken, Problem: "no space left"}) }), plan.Crashed, "no space", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, tt.limits)
			w.begin()
			tt.do(w)
			w.finish()
			o := w.s.Outcome
			if o.Reason != tt.reason || !strings.Contains(o.Why, tt.why) || o.Pauses() != tt.pauses {
				t.Errorf("outcome %+v", o)
			}
			if o.Pauses() != (o.Advice != "") {
				t.Errorf("pauses %v, advice %q", o.Pauses(), o.Advice)
			}
			if (o.Status() == plan.StatusNormal) != (tt.reason == plan.Normal) {
				t.Errorf("status %s", o.Status())
			}
			if got := w.hooks[string(plan.HookPostTick)]; !slices.Equal(got, w.scripts) {
				t.Errorf("hooks after the tick: %v", got)
			}
			end := w.done[len(w.done)-5:]
			if !slices.Equal(end, []plan.ActionKind{plan.Close, plan.Finish, plan.RunHooks, plan.Push, plan.Clean}) {
				t.Errorf("it ended with %v", end)
			}
		})
	}
}

func TestEndConditions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		text  string
		check plan.Check
		want  []string // parts of the next prompt; none: the tick ends
		not   string
	}{
		{"nothing is left", "said", plan.Check{LoggedIn: true}, nil, ""},
		{"not logged in", "", plan.Check{Live: []int{1}, Issues: []string{"commit"}}, []string{"login()"}, "Terminals"},
		{"live terminals", "said", plan.Check{LoggedIn: true, Live: []int{0, 12}}, []string{"0, 12"}, "login"},
		{"hooks", "said", plan.Check{LoggedIn: true, Issues: []string{" commit your work ", "", "push\nit"}}, []string{"- commit your work\n", "- push\n  it\n"}, ""},
		{"said nothing", " \n", plan.Check{LoggedIn: true}, []string{"said nothing"}, ""},
		{"all", "", plan.Check{LoggedIn: true, Live: []int{2}, Issues: []string{"commit"}}, []string{"2", "commit", "said nothing"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, plan.Limits{})
			w.begin()
			a := w.until(plan.Prompt)
			w.turn, w.pending = false, nil
			w.give(plan.Event{Kind: plan.TurnEnded, Turn: a.Turn, Text: tt.text})
			w.until(plan.CheckEnd)
			w.pending = nil
			w.give(plan.Event{Kind: plan.Checked, Check: tt.check})
			if len(tt.want) == 0 {
				if w.s.Outcome.Reason != plan.Normal {
					t.Errorf("outcome %v", w.s.Outcome)
				}
				return
			}
			next := w.until(plan.Prompt)
			for _, part := range tt.want {
				if !strings.Contains(next.Text, part) {
					t.Errorf("the prompt does not contain %q:\n%s", part, next.Text)
				}
			}
			if tt.not != "" && strings.Contains(next.Text, tt.not) {
				t.Errorf("the prompt contains %q:\n%s", tt.not, next.Text)
			}
		})
	}
}

// What failed is tried again after as long as the vendor says, else after
// longer and longer pauses. Work in between begins the count anew.
func TestPauses(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{Wall: 24 * time.Hour})
	w.begin()
	var pauses []time.Duration
	again := func(f plan.Failure) {
		w.until(plan.Prompt)
		at := w.now
		w.fail(f, false)
		if w.s.Stage != plan.Waiting {
			t.Fatalf("stage %s after %v", w.s.Stage, f)
		}
		w.until(plan.Prompt)
		pauses = append(pauses, w.now-at)
	}
	overload := plan.Failure{Class: plan.OverloadClass}
	for range 8 {
		again(overload)
	}
	again(plan.Failure{Class: plan.QuotaClass, RetryAfter: 17 * time.Minute})
	w.within(plan.Event{Kind: plan.Worked})
	again(overload)
	s := time.Second
	want := []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 600 * s, 600 * s, 17 * time.Minute, 10 * s}
	if !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
}

// A pause keeps nothing from being heard.
func TestPauseKeepsReading(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	w.until(plan.Prompt)
	w.fail(plan.Failure{Class: plan.OverloadClass}, false)
	w.notify("n1")
	w.give(plan.Event{Kind: plan.SessionGone})
	if got := w.until(plan.Open); got.Resume != "s1" {
		t.Errorf("the session that ended is opened with %q", got.Resume)
	}
	if got := w.until(plan.Prompt); !strings.Contains(got.Text, "text of n1") || !strings.HasPrefix(got.Text, "Tick 7") {
		t.Errorf("after the pause: %q", got.Text)
	}
	w.fail(plan.Failure{Class: plan.OverloadClass}, false)
	w.give(plan.Event{Kind: plan.Stop})
	w.finish()
	if w.s.Outcome.Reason != plan.Interrupted {
		t.Errorf("a stop within a pause: %v", w.s.Outcome)
	}
	if _, there := w.inbox["n1"]; !there {
		t.Error("a notice that the agent never got was acknowledged")
	}
}

func TestPromptAfterFailure(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	w.until(plan.Prompt)
	w.fail(plan.Failure{Class: plan.GoneClass, Message: "exit 1"}, true)
	if w.until(plan.Open).Resume != "s1" {
		t.Error("the session is not gone on with")
	}
	if got := w.until(plan.Prompt); !strings.HasPrefix(got.Text, "Tick 7 starting") {
		t.Errorf("a prompt about which nothing was done is not sent again: %q", got.Text)
	}
	w.within(plan.Event{Kind: plan.Spoke, Text: "I begin"})
	w.fail(plan.Failure{Class: plan.GoneClass, Message: "exit 1"}, true)
	if got := w.until(plan.Prompt); !strings.Contains(got.Text, "cut off") || strings.Contains(got.Text, "Tick 7") {
		t.Errorf("a prompt that was begun with: %q", got.Text)
	}
	w.fail(plan.Failure{Class: plan.GoneClass, Message: "exit 1"}, true)
	w.until(plan.Open)
	w.fail(plan.Failure{Class: plan.NoSessionClass, Message: "no such session"}, false)
	if got := w.until(plan.Open); got.Resume != "" {
		t.Errorf("a session that is not there is opened again: %q", got.Resume)
	}
	if got := w.until(plan.Prompt); !strings.HasPrefix(got.Text, "Tick 7 starting") || !strings.Contains(got.Text, "was lost") {
		t.Errorf("a session that was lost: %q", got.Text)
	}
}

// An agent that fails by itself after work each time does so for ever: work is
// no success.
func TestFailsAfterWork(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{Retries: 3})
	w.begin()
	for w.s.Outcome.Reason == "" {
		w.until(plan.Prompt)
		w.within(plan.Event{Kind: plan.Worked})
		w.fail(plan.Failure{Class: plan.GoneClass}, true)
	}
	if w.s.Outcome.Reason != plan.Exhausted || w.prompts != 4 {
		t.Errorf("%v after %d prompts", w.s.Outcome, w.prompts)
	}
}

func TestSilence(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	w.until(plan.Prompt)
	w.now = 5 * time.Minute
	w.within(plan.Event{Kind: plan.Active})
	if at, ok := w.s.Due(); !ok || at != 15*time.Minute {
		t.Fatalf("due at %v, %v", at, ok)
	}
	w.pass(15 * time.Minute)
	if w.done[len(w.done)-1] != plan.Interrupt {
		t.Fatalf("a silent turn is not interrupted: %v", w.done)
	}
	w.answer() // the turn ends, by the interrupt
	if w.count(plan.DropSession) != 1 || w.s.Stage != plan.Waiting {
		t.Errorf("after silence: stage %s, %v", w.s.Stage, w.done)
	}
	w.finish()
	if w.s.Outcome.Reason != plan.Normal {
		t.Errorf("outcome %v", w.s.Outcome)
	}
}

func TestNoticesWithinTick(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	w.notify("early")
	if got := w.until(plan.Prompt); !strings.Contains(got.Text, "text of early.") {
		t.Errorf("the first prompt: %q", got.Text)
	}
	w.notify("by-tool")
	w.notify("by-tool") // seen again by whoever watches
	if w.count(plan.RouseWait) != 1 {
		t.Error("a tool that waits was not roused once")
	}
	w.within(plan.Event{Kind: plan.Answering, Call: "c1"})
	w.within(plan.Event{Kind: plan.Answering, Call: "c2"})
	if !w.told["by-tool"] || w.count(plan.Tell) != 2 {
		t.Error("the tool's answer carried no notice")
	}
	w.notify("by-prompt")
	if len(w.inbox) != 3 {
		t.Error("a notice was acknowledged before its turn ended")
	}
	w.answer()
	if len(w.inbox) != 1 {
		t.Errorf("after the turn's end these are not acknowledged: %v", w.inbox)
	}
	if got := w.until(plan.Prompt); got.Text != "[notification]\ntext of by-prompt." {
		t.Errorf("the next prompt: %q", got.Text)
	}
	w.until(plan.CheckEnd)
	w.notify("late")
	w.until(plan.Prompt)
	w.finish()
	if len(w.inbox) != 0 || w.s.Outcome.Reason != plan.Normal {
		t.Errorf("left %v, outcome %v", w.inbox, w.s.Outcome)
	}
}

func TestNoticesAtTheEndStay(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	w.until(plan.Close)
	w.notify("too-late")
	w.finish()
	if _, there := w.inbox["too-late"]; !there || w.prompts != 1 {
		t.Errorf("inbox %v, %d prompts", w.inbox, w.prompts)
	}
}

// What the agent saw before its turn was cut off is not told again, what it may
// not have seen is.
func TestNoticesOfTurnThatIsCutOff(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	w.until(plan.Prompt)
	w.notify("seen")
	w.within(plan.Event{Kind: plan.Answering, Call: "1"})
	w.reply()
	w.reply()
	w.notify("unseen")
	w.within(plan.Event{Kind: plan.Answering, Call: "2"})
	w.give(plan.Event{Kind: plan.Stop})
	w.finish()
	if _, there := w.inbox["seen"]; there {
		t.Error("a notice that the agent acted on stays")
	}
	if _, there := w.inbox["unseen"]; !there {
		t.Error("a notice that the agent may not have seen is gone")
	}
}

// A reply of the model may use several tools, which run one after the other. It
// has seen the answer of none of them before its next reply.
func TestNoticesOfToolsThatOneReplyUses(t *testing.T) {
	for name, tt := range map[string]struct {
		after func(*world) // the first tool has answered
		stays bool
	}{
		"the second tool is used": {func(w *world) { w.within(plan.Event{Kind: plan.Worked}) }, true},
		"all tools have answered": {func(w *world) {
			w.within(plan.Event{Kind: plan.Worked})
			w.within(plan.Event{Kind: plan.Answering, Call: "2"})
		}, true},
		"the reply is heard of late":       {func(w *world) { w.within(plan.Event{Kind: plan.Replied, Certain: true}) }, true},
		"a further part of it, or another": {func(w *world) { w.reply(); w.within(plan.Event{Kind: plan.Replied}) }, true},
		"two more replies":                 {func(w *world) { w.reply(); w.reply() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, plan.Limits{})
			w.begin()
			w.until(plan.Prompt)
			w.within(plan.Event{Kind: plan.Worked})
			w.notify("n")
			w.within(plan.Event{Kind: plan.Answering, Call: "1"})
			tt.after(w)
			w.give(plan.Event{Kind: plan.Stop})
			w.finish()
			if _, there := w.inbox["n"]; there != tt.stays {
				t.Errorf("the notification stays: %v", there)
			}
		})
	}
}

// What stands in the prompt has been seen by a model that replies to it.
func TestNoticesOfPromptThatIsCutOff(t *testing.T) {
	for _, replies := range []int{0, 1} {
		w := newWorld(t, 1, plan.Limits{})
		w.begin()
		w.notify("n")
		w.until(plan.Prompt)
		for range replies {
			w.reply()
		}
		w.give(plan.Event{Kind: plan.Stop})
		w.finish()
		if _, there := w.inbox["n"]; there != (replies == 0) {
			t.Errorf("after %d replies the notification stays: %v", replies, there)
		}
	}
}

func TestManyNotices(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	w.until(plan.Prompt)
	var all []plan.Notice
	for i := range 100 {
		id := fmt.Sprintf("%03d", i)
		w.inbox[id] = id + strings.Repeat("x", 10_000)
		all = append(all, plan.Notice{ID: id, Text: w.inbox[id]})
	}
	w.give(plan.Event{Kind: plan.Notified, Notices: all})
	w.finish()
	if len(w.inbox) != 0 {
		t.Errorf("%d of 100 notices are left", len(w.inbox))
	}
	if w.prompts < 15 || w.prompts > 20 { // 1 MB in pieces of 64 KiB
		t.Errorf("%d prompts", w.prompts)
	}
}

// As long as there is more to tell than an answer or a prompt carries, a tool
// that waits returns.
func TestMoreNoticesThanOneAnswerCarries(t *testing.T) {
	w := newWorld(t, 1, plan.Limits{})
	w.begin()
	notify := func(ids ...string) {
		var all []plan.Notice
		for _, id := range ids {
			w.inbox[id] = id + strings.Repeat("x", 40_000)
			all = append(all, plan.Notice{ID: id, Text: w.inbox[id]})
		}
		w.give(plan.Event{Kind: plan.Notified, Notices: all})
	}
	notify("a", "b") // 64 KiB are one of them
	if w.until(plan.Prompt); !w.told["a"] || w.told["b"] || w.count(plan.RouseWait) != 1 {
		t.Errorf("told %v, roused %d times", w.told, w.count(plan.RouseWait))
	}
	notify("c")
	for _, want := range []struct {
		told string
		more bool
	}{{"b", true}, {"c", false}, {"", false}} {
		w.within(plan.Event{Kind: plan.Answering, Call: "1"})
		if w.more != want.more || want.told != "" && !w.told[want.told] {
			t.Errorf("told %v, more to tell: %v; want %+v", w.told, w.more, want)
		}
	}
}

func TestWrapUp(t *testing.T) {
	for name, tt := range map[string]struct {
		limits plan.Limits
		event  plan.Event
		want   bool
	}{
		"below":            {plan.Limits{}, plan.Event{Kind: plan.Used, Tokens: 699_999, Window: 1_000_000}, false},
		"at 70 %":          {plan.Limits{}, plan.Event{Kind: plan.Used, Tokens: 700_000, Window: 1_000_000}, true},
		"configured":       {plan.Limits{WarnAt: 0.5}, plan.Event{Kind: plan.Used, Tokens: 500_000, Window: 1_000_000}, true},
		"window not known": {plan.Limits{}, plan.Event{Kind: plan.Used, Tokens: 700_000}, false},
		"window given":     {plan.Limits{Window: 800_000}, plan.Event{Kind: plan.Used, Tokens: 700_000}, true},
		"told one counts":  {plan.Limits{Window: 800_000}, plan.Event{Kind: plan.Used, Tokens: 700_000, Window: 2_000_000}, false},
		"cost below":       {plan.Limits{CostUSD: 10}, plan.Event{Kind: plan.Used, CostUSD: 8.9}, false},
		"cost at 90 %":     {plan.Limits{CostUSD: 10}, plan.Event{Kind: plan.Used, CostUSD: 9}, true},
		"cost is absurd":   {plan.Limits{CostUSD: 10}, plan.Event{Kind: plan.Used, CostUSD: math.Inf(1)}, false},
		"replies at 90 %":  {plan.Limits{Turns: 2}, plan.Event{Kind: plan.Replied}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, tt.limits)
			w.begin()
			w.until(plan.Prompt)
			w.within(tt.event)
			w.within(tt.event)
			if got := w.s.WrapUp != ""; got != tt.want {
				t.Fatalf("wrap up %q", w.s.WrapUp)
			}
			if want := map[bool]int{true: 1}[tt.want]; w.count(plan.RouseWait) != want {
				t.Errorf("a tool that waits was roused %d times", w.count(plan.RouseWait))
			}
			w.finish()
			if w.prompts != 1 { // an agent that ends by itself is told nothing more
				t.Errorf("%d prompts", w.prompts)
			}
		})
	}
	t.Run("by time", func(t *testing.T) {
		w := newWorld(t, 1, plan.Limits{Wall: 100 * time.Minute, Silence: 200 * time.Minute})
		w.begin()
		w.until(plan.Prompt)
		if at, _ := w.s.Due(); at != 90*time.Minute {
			t.Fatalf("due at %v", at)
		}
		w.pass(90 * time.Minute)
		if !strings.Contains(w.s.WrapUp, "1h30m") {
			t.Errorf("wrap up %q", w.s.WrapUp)
		}
	})
}

// What a turn has cost is counted once, however it is told, and also if the
// turn fails or the process is killed.
func TestCost(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(*world, plan.Action)
		want float64
	}{
		"at the end": {func(w *world, a plan.Action) {
			w.give(plan.Event{Kind: plan.TurnEnded, Turn: a.Turn, Text: "x", CostUSD: 2})
		}, 2},
		"on the way": {func(w *world, a plan.Action) {
			w.within(plan.Event{Kind: plan.Used, CostUSD: 1})
			w.give(plan.Event{Kind: plan.TurnEnded, Turn: a.Turn, Text: "x"})
		}, 1},
		"both": {func(w *world, a plan.Action) {
			w.within(plan.Event{Kind: plan.Used, CostUSD: 1})
			w.give(plan.Event{Kind: plan.TurnEnded, Turn: a.Turn, Text: "x", CostUSD: 1.5})
		}, 1.5},
		"a turn that fails": {func(w *world, a plan.Action) {
			w.within(plan.Event{Kind: plan.Used, CostUSD: 1})
			w.give(plan.Event{Kind: plan.TurnFailed, Turn: a.Turn, Failure: &plan.Failure{Class: plan.AuthClass}})
		}, 1},
		"told late": {func(w *world, a plan.Action) {
			w.give(plan.Event{Kind: plan.TurnFailed, Turn: a.Turn, CostUSD: 1, Failure: &plan.Failure{Class: plan.QuotaClass}})
			w.give(plan.Event{Kind: plan.Used, Turn: a.Turn, CostUSD: 1})
			w.give(plan.Event{Kind: plan.Stop})
		}, 1},
		"a process is killed": {func(w *world, _ plan.Action) { w.within(plan.Event{Kind: plan.Used, CostUSD: 1}); w.kill(); w.kill() }, 1},
		"no number": {func(w *world, a plan.Action) {
			w.give(plan.Event{Kind: plan.TurnEnded, Turn: a.Turn, Text: "x", CostUSD: math.NaN()})
		}, 0},
	} {
		w := newWorld(t, 1, plan.Limits{})
		w.begin()
		a := w.until(plan.Prompt)
		w.turn, w.pending = false, nil
		tt.do(w, a)
		w.finish()
		if w.s.CostUSD != tt.want {
			t.Errorf("%s: %g USD, want %g", name, w.s.CostUSD, tt.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":         "",
		"no object":       "[]",
		"no version":      `{"tick":1}`,
		"newer":           `{"v":99,"tick":1,"stage":"turning"}`,
		"unknown stage":   `{"v":1,"tick":1,"stage":"dancing"}`,
		"no tick at all":  `{"v":1,"tick":-4,"stage":"turning"}`,
		"cut in the half": `{"v":1,"tick":1,"stage":"turn`,
	} {
		if s, err := plan.Decode([]byte(data)); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
}
