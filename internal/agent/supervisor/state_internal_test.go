package supervisor

import "testing"

func TestCountingRule(t *testing.T) {
	watching := func(failed int) state { return state{Failed: failed} }
	paused := func(failed int) state { return state{Failed: failed, Paused: true} }
	unheard := func(s state) state { s.Unheard = true; return s }
	say := func(a Action) Verdict { return Verdict{Action: a, Message: "m"} }
	for _, row := range []struct {
		name    string
		from    state
		verdict Verdict
		to      state
		effect  effect
	}{
		{"OK keeps watching", watching(0), say(OK), watching(0), effect{}},
		{"OK resets the count", watching(2), say(OK), watching(0), effect{}},
		{"first correction", watching(0), say(Correction), unheard(watching(1)), effect{Whisper: say(Correction)}},
		{"second correction", watching(1), say(Correction), unheard(watching(2)), effect{Whisper: say(Correction)}},
		{"correction while one waits", unheard(watching(1)), say(Correction), unheard(watching(1)), effect{}},
		{"third correction while one waits", unheard(watching(2)), say(ThinkDeeper), unheard(watching(2)), effect{}},
		{"escalation while one waits", unheard(watching(1)), say(Escalation), unheard(paused(1)), effect{Escalate: "m"}},
		{"OK while one waits", unheard(watching(1)), say(OK), unheard(watching(0)), effect{}},
		{"paused and OK while one waits", unheard(paused(1)), say(OK), unheard(watching(0)), effect{Back: true}},
		{"third correction", watching(2), say(Correction), paused(3), effect{Escalate: "3 corrections in a row did not help; the last one: m"}},
		{"first think deeper", watching(0), say(ThinkDeeper), unheard(watching(1)), effect{Whisper: say(ThinkDeeper)}},
		{"think deeper counts like a correction", watching(2), say(ThinkDeeper), paused(3), effect{Escalate: "3 corrections in a row did not help; the last one: m"}},
		{"escalation at once", watching(0), say(Escalation), paused(0), effect{Escalate: "m"}},
		{"escalation after corrections", watching(2), say(Escalation), paused(2), effect{Escalate: "m"}},
		{"paused and OK", paused(3), say(OK), watching(0), effect{Back: true}},
		{"paused and correction", paused(3), say(Correction), paused(3), effect{}},
		{"paused and think deeper", paused(3), say(ThinkDeeper), paused(3), effect{}},
		{"paused and escalation", paused(3), say(Escalation), paused(3), effect{}},
	} {
		to, e := next(row.from, row.verdict, 3)
		if to != row.to || e != row.effect {
			t.Errorf("%s: %+v, %+v; want %+v, %+v", row.name, to, e, row.to, row.effect)
		}
	}
	if to, e := returned(paused(3)); to != watching(0) || !e.Back {
		t.Errorf("a person's message while paused: %+v, %+v", to, e)
	}
	if to := heard(unheard(watching(1))); to != watching(1) {
		t.Errorf("a correction that was heard: %+v", to)
	}
	if to := notTold(unheard(watching(1))); to != watching(0) {
		t.Errorf("a correction that cannot be told: %+v", to)
	}
	if to, e := returned(watching(2)); to != watching(2) || e.Back {
		t.Errorf("a person's message while watching: %+v, %+v", to, e)
	}
}

// Whatever a judge says, a person is called at most once until the agent comes
// back, and the agent hears at most threshold-1 corrections before that, one at
// a time.
func FuzzCountingRule(f *testing.F) {
	f.Add([]byte{1, 4, 1, 1, 4, 1, 0, 3, 2}, 3)
	f.Fuzz(func(t *testing.T, verdicts []byte, threshold int) {
		if threshold < 1 || threshold > 100 {
			return
		}
		all := []Action{OK, Correction, ThinkDeeper, Escalation}
		s, whispers, called := state{}, 0, false
		for _, b := range verdicts {
			at := int(b) % (len(all) + 1)
			if at == len(all) {
				s = heard(s)
				continue
			}
			v := Verdict{Action: all[at], Message: "m"}
			to, e := next(s, v, threshold)
			if e.Whisper.Action != "" {
				if whispers++; whispers >= threshold || called || s.Unheard {
					t.Fatalf("whisper %d after %+v", whispers, s)
				}
			}
			if e.Escalate != "" {
				if called {
					t.Fatalf("a person was called twice")
				}
				called = true
			}
			if v.Action == OK {
				whispers, called = 0, false
			}
			if to.Paused != called {
				t.Fatalf("%+v after %v, called %v", to, v.Action, called)
			}
			s = to
		}
	})
}
