package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/ticks/plan"
)

// world performs the actions of ticks without effects, and notes what was done.
// It can be killed between any two steps.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	s       plan.State
	now     time.Duration
	pending []plan.Action // that wait for their event
	scripts []string      // of each directory of hooks

	given    int                 // events
	recorded plan.State          // as it is on the disk
	inbox    map[string]string   // notifications that were not acknowledged
	told     map[string]bool     // that the agent was told of
	known    map[string]bool     // that the model has replied to
	more     bool                // there was more to tell than the last answer carried
	acted    bool                // the model did something
	acked    bool                // the causes were acknowledged
	done     []plan.ActionKind   // in order
	hooks    map[string][]string // scripts that were started, by directory
	prompts  int
	turn     bool // one runs
	mortal   bool // it is killed at times between the record and the actions
	killed   []string
	outcome  plan.Outcome
}

func newWorld(t *testing.T, seed uint64, limits plan.Limits) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), scripts: []string{"10-a", "20-b", "30-c"},
		inbox: map[string]string{}, told: map[string]bool{}, known: map[string]bool{}, hooks: map[string][]string{},
	}
	w.s = plan.First(7, time.Unix(1_800_000_000, 0), "Tick 7 starting.", []plan.Cause{{Kind: plan.ByTrigger, ID: "t", Reason: "because"}}, limits)
	return w
}

// give is one event: the rule, the record, and then the actions.
func (w *world) give(e plan.Event) {
	w.t.Helper()
	e.Elapsed = w.now
	if w.acts(e) {
		w.acted = true
		if e.Kind == plan.TurnEnded { // with all that tools answered
			w.learn()
		}
	}
	var before []byte
	if w.given++; w.given%16 == 0 {
		before = w.encode(w.s)
	}
	next, actions := plan.Next(w.s, e)
	if before != nil && string(before) != string(w.encode(w.s)) {
		w.t.Fatalf("Next changed its argument at %s", e.Kind)
	}
	if w.s.Outcome.Reason != "" && next.Outcome != w.s.Outcome {
		w.t.Fatalf("the outcome changed from %v to %v", w.s.Outcome, next.Outcome)
	}
	w.s, w.recorded = next, next
	w.outcome = next.Outcome
	// A hook that was recorded, and not started, is never started: the law of
	// hooks is about those that are.
	if w.mortal && e.Kind != plan.HookStarted && w.rng.IntN(300) == 0 {
		w.kill()
		return
	}
	for _, a := range actions {
		w.perform(a)
	}
}

// acts reports whether an event shows that the model has the prompt.
func (w *world) acts(e plan.Event) bool {
	if e.Turn != w.s.Turn.Number {
		return false
	}
	switch e.Kind {
	case plan.Replied, plan.Spoke, plan.Worked:
		return w.s.Stage == plan.Turning || w.s.Stage == plan.Stopping
	case plan.TurnEnded: // by itself
		return w.s.Stage == plan.Turning && !w.s.Turn.Silent
	}
	return false
}

func (w *world) encode(s plan.State) []byte {
	w.t.Helper()
	data, err := s.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// perform does what takes no time; the rest waits for its event.
func (w *world) perform(a plan.Action) {
	w.t.Helper()
	w.done = append(w.done, a.Kind)
	switch a.Kind {
	case plan.Interrupt, plan.DropSession, plan.RouseWait:
	case plan.AckCauses:
		if len(a.Causes) != 1 || a.Causes[0].ID != "t" {
			w.t.Errorf("causes %v were acknowledged", a.Causes)
		}
		if !w.acted {
			w.t.Error("the causes were acknowledged before the agent did anything")
		}
		w.acked = true
	case plan.Tell:
		w.tell(a.Notices)
		w.more = a.More
	case plan.AckNotices:
		for _, n := range a.Notices {
			if !w.told[n.ID] {
				w.t.Errorf("notice %s was acknowledged before the agent was told", n.ID)
			}
			if w.outcome.Reason != "" && !w.known[n.ID] {
				w.t.Errorf("notice %s was acknowledged, and the model has not seen it", n.ID)
			}
			if _, there := w.inbox[n.ID]; !there {
				w.t.Errorf("notice %s was acknowledged twice", n.ID)
			}
			delete(w.inbox, n.ID)
		}
	case plan.Prompt:
		if w.turn {
			w.t.Error("a prompt was sent while a turn ran")
		}
		if w.outcome.Reason != "" {
			w.t.Error("a prompt was sent although the tick ends")
		}
		if a.Text == "" {
			w.t.Error("an empty prompt was sent")
		}
		w.turn = true
		w.prompts++
		for id, text := range w.inbox {
			if strings.Contains(a.Text, text) {
				w.told[id] = true
			}
		}
		w.pending = append(w.pending, a)
	case plan.Close:
		w.turn = false
		w.pending = []plan.Action{a} // it ends whatever runs
	default:
		w.pending = append(w.pending, a)
	}
}

// reply has the model begin another reply: it has all that it was told before.
func (w *world) reply() {
	w.t.Helper()
	w.learn()
	w.within(plan.Event{Kind: plan.Replied, Certain: true})
}

// learn has the model see all that it was told.
func (w *world) learn() {
	for id := range w.told {
		w.known[id] = true
	}
}

func (w *world) tell(notices []plan.Notice) {
	for _, n := range notices {
		if n.ID != "" {
			w.told[n.ID] = true
		}
	}
}

// answer lets one action that waits come to its end, as it goes in the good
// case.
func (w *world) answer() {
	w.t.Helper()
	a := w.pending[0]
	w.pending = w.pending[1:]
	switch a.Kind {
	case plan.Begin:
		w.give(plan.Event{Kind: plan.Begun})
	case plan.Prepare:
		w.give(plan.Event{Kind: plan.Prepared})
	case plan.RunHooks:
		w.runHooks(a, len(w.scripts))
	case plan.Open:
		w.give(plan.Event{Kind: plan.Opened, Session: "s1"})
	case plan.Prompt:
		w.turn = false
		w.give(plan.Event{Kind: plan.TurnEnded, Turn: a.Turn, Text: "done"})
	case plan.CheckEnd:
		w.give(plan.Event{Kind: plan.Checked, Check: plan.Check{LoggedIn: true}})
	case plan.Close:
		w.give(plan.Event{Kind: plan.Closed})
	case plan.Finish:
		w.give(plan.Event{Kind: plan.Finished})
	case plan.Push:
		w.give(plan.Event{Kind: plan.Pushed})
	case plan.Clean:
		w.give(plan.Event{Kind: plan.Cleaned})
	default:
		w.t.Fatalf("nothing answers %s", a.Kind)
	}
}

// runHooks starts the first scripts; the process may be killed before the
// rest.
func (w *world) runHooks(a plan.Action, first int) {
	for _, name := range w.scripts[:first] {
		if slices.Contains(a.Skip, name) {
			continue
		}
		w.give(plan.Event{Kind: plan.HookStarted, Hook: a.Hook, Name: name})
		w.hooks[string(a.Hook)] = append(w.hooks[string(a.Hook)], name)
	}
	if first == len(w.scripts) {
		w.give(plan.Event{Kind: plan.HooksEnded, Hook: a.Hook})
	}
}

// kill loses everything but the record, and recovers.
func (w *world) kill() {
	w.t.Helper()
	w.killed = append(w.killed, fmt.Sprintf("%s %v", w.s.Stage, w.s.Hooks))
	s, err := plan.Decode(w.encode(w.recorded))
	if err != nil {
		w.t.Fatal(err)
	}
	w.turn = false
	w.pending = nil
	w.now = 0
	next, actions := plan.Recover(s)
	w.s, w.recorded, w.outcome = next, next, next.Outcome
	for _, a := range actions {
		w.perform(a)
	}
}

// finish answers everything until the tick is done.
func (w *world) finish() {
	w.t.Helper()
	for range 10_000 {
		switch {
		case len(w.pending) > 0:
			w.answer()
		case w.s.Stage == plan.Done:
			return
		default:
			at, ok := w.s.Due()
			if !ok {
				w.t.Fatalf("the tick hangs in stage %s", w.s.Stage)
			}
			w.pass(at)
		}
	}
	w.t.Fatalf("the tick does not end; stage %s", w.s.Stage)
}

// pass lets time go by.
func (w *world) pass(to time.Duration) {
	w.t.Helper()
	w.now = max(w.now, to)
	w.give(plan.Event{Kind: plan.Passed})
	if at, ok := w.s.Due(); ok && at <= w.now && len(w.pending) == 0 {
		w.t.Fatalf("at %s the next event is due at %s: it would be given for ever", w.now, at)
	}
}

func (w *world) notify(id string) {
	w.inbox[id] = "text of " + id + "."
	w.give(plan.Event{Kind: plan.Notified, Notices: []plan.Notice{{ID: id, Text: w.inbox[id]}}})
}

// fail ends the running turn, or the start of a session, with a failure.
func (w *world) fail(f plan.Failure, gone bool) {
	w.t.Helper()
	a := w.pending[0]
	w.pending = w.pending[1:]
	switch a.Kind {
	case plan.Open:
		w.give(plan.Event{Kind: plan.OpenFailed, Failure: &f})
	case plan.Prompt:
		w.turn = false
		w.give(plan.Event{Kind: plan.TurnFailed, Turn: a.Turn, Failure: &f, Gone: gone})
	default:
		w.t.Fatalf("%s does not fail", a.Kind)
	}
}

// until answers actions until one of a kind waits.
func (w *world) until(kind plan.ActionKind) plan.Action {
	w.t.Helper()
	for range 1000 {
		if len(w.pending) == 0 {
			at, ok := w.s.Due()
			if !ok {
				w.t.Fatalf("%s never comes; stage %s, outcome %v", kind, w.s.Stage, w.s.Outcome)
			}
			w.pass(at)
			continue
		}
		if w.pending[0].Kind == kind {
			return w.pending[0]
		}
		w.answer()
	}
	w.t.Fatalf("%s never comes", kind)
	return plan.Action{}
}

func (w *world) begin() { w.give(plan.Event{Kind: plan.Start}) }

// within gives an event of the running turn.
func (w *world) within(e plan.Event) {
	e.Turn = w.s.Turn.Number
	w.give(e)
}

func (w *world) count(kind plan.ActionKind) int {
	n := 0
	for _, k := range w.done {
		if k == kind {
			n++
		}
	}
	return n
}
