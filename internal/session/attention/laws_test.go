package attention_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"den/internal/session/attention"
)

// subject is one session or agent of the model. Beside what den would note of
// it (facts), it has what a person knows who has seen everything: whether
// there is news, and what is open.
type subject struct {
	facts attention.Facts

	working, asks, broken, ended bool
	unread                       bool // something ended that nobody has seen
}

// needsPerson says in the words of the model what the states must say.
func (s *subject) needsPerson() bool {
	switch {
	case s.broken:
		return true
	case s.ended:
		return s.unread
	case s.asks:
		return true
	}
	return s.unread && !s.working
}

// The things that can happen to a subject; each has a reason to be there.
var happenings = map[string]func(s *subject, now time.Time){
	"works": func(s *subject, now time.Time) {
		s.facts.Note, s.working = s.facts.Note.Work(now), true
	},
	"rests, and nobody had asked": func(s *subject, now time.Time) {
		s.facts.Note, s.working = s.facts.Note.Rest(now, attention.Idle), false
	},
	"ends a turn before its caller": func(s *subject, now time.Time) {
		s.facts.Note, s.working, s.unread = s.facts.Note.Rest(now, attention.Taken), false, false
	},
	"ends a turn, and nobody looks": func(s *subject, now time.Time) {
		s.facts.Note, s.working, s.unread = s.facts.Note.Rest(now, attention.News), false, true
	},
	"fails a turn": func(s *subject, now time.Time) {
		s.facts.Note, s.working, s.unread = s.facts.Note.Fail(now, "exit 2"), false, true
	},
	"asks": func(s *subject, now time.Time) {
		s.facts.Question, s.asks = &attention.Question{Text: "Overwrite?", Options: []string{"yes", "no"}, Asked: now}, true
	},
	"is answered": func(s *subject, _ time.Time) { s.facts.Question, s.asks = nil, false },
	"is given up": func(s *subject, now time.Time) {
		s.facts.Broken, s.broken = &attention.Event{At: now, What: "restarted five times"}, true
	},
	"is repaired": func(s *subject, _ time.Time) { s.facts.Broken, s.broken = nil, false },
	"is looked at": func(s *subject, now time.Time) {
		s.facts.Looked, s.unread = now, false
	},
	"ends well":   func(s *subject, now time.Time) { s.end(attention.Ending{At: now}, true) },
	"ends badly":  func(s *subject, now time.Time) { s.end(attention.Ending{At: now, Failure: "exit 1"}, true) },
	"is killed":   func(s *subject, now time.Time) { s.end(attention.Ending{At: now, Known: true}, false) },
	"starts anew": func(s *subject, _ time.Time) { *s = subject{working: true} },
	"is stored and read again": func(s *subject, _ time.Time) {
		raw, err := json.Marshal(s.facts.Note)
		s.facts.Note = attention.Note{}
		if err := errors.Join(err, json.Unmarshal(raw, &s.facts.Note)); err != nil {
			panic(err)
		}
	},
}

// afterEnd is what can happen to a program that has ended.
var afterEnd = []string{"is looked at", "is given up", "is repaired", "starts anew", "is stored and read again"}

// end ends the program: what it asked and did before is history.
func (s *subject) end(e attention.Ending, news bool) {
	s.facts.Ended, s.ended, s.unread = &e, true, news
}

// The law: the queue never shows one that does not need a person, nor hides one
// that does; and it is ordered, what waits longest first.
func TestQueueShowsExactlyWhatNeedsAPerson(t *testing.T) {
	names := make([]string, 0, len(happenings))
	for name := range happenings {
		names = append(names, name)
	}
	slices.Sort(names) // so that a seed is a sequence
	const sequences, steps, fleet = 2000, 40, 5
	first := rand.Uint64() // other sequences each time
	for seed := first; seed != first+sequences; seed++ {
		dice := rand.New(rand.NewPCG(seed, 14))
		subjects := make([]subject, fleet)
		for i := range subjects {
			subjects[i].working = true // nobody has noted anything yet
		}
		now := time.Unix(1_000_000, 0).UTC()
		var told []string
		for range steps {
			now = now.Add(time.Duration(1+dice.IntN(5)) * time.Second)
			at, name := dice.IntN(fleet), names[dice.IntN(len(names))]
			if subjects[at].ended && !slices.Contains(afterEnd, name) {
				continue
			}
			told = append(told, fmt.Sprintf("%d %s", at, name))
			happenings[name](&subjects[at], now)
			if wrong := checkQueue(subjects, now); wrong != "" {
				t.Fatalf("seed %d: %s\nafter %q", seed, wrong, told)
			}
		}
	}
}

// checkQueue compares the queue with the model, and returns what is wrong.
func checkQueue(subjects []subject, now time.Time) string {
	items := make([]attention.Item, len(subjects))
	want := map[string]bool{}
	for i := range subjects {
		items[i] = attention.Item{ID: fmt.Sprint(i), Attention: attention.Of(subjects[i].facts)}
		if wrong := checkState(&subjects[i], items[i].Attention, now); wrong != "" {
			return fmt.Sprintf("subject %d: %s", i, wrong)
		}
		if subjects[i].needsPerson() {
			want[items[i].ID] = true
		}
	}
	queue := attention.Queue(items)
	got := map[string]bool{}
	for i, item := range queue {
		got[item.ID] = true
		if i > 0 && item.Since.Before(queue[i-1].Since) {
			return fmt.Sprintf("%s waits longer than %s and is behind it", item.ID, queue[i-1].ID)
		}
	}
	if len(got) != len(queue) || !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("the queue has %v, want %v", got, want)
	}
	return ""
}

// checkState checks one state against the words of the model.
func checkState(s *subject, a attention.Attention, now time.Time) string {
	is := map[attention.State]bool{
		attention.Asking: !s.broken && !s.ended && s.asks,
		attention.Over:   !s.broken && s.ended && !s.unread,
		attention.Busy:   !s.broken && !s.ended && !s.asks && s.working,
		attention.Ready:  !s.broken && !s.ended && !s.asks && !s.working && !s.unread,
		attention.Failed: s.needsPerson() && a.What != "",
		attention.Done:   s.needsPerson() && a.What == "" && !s.broken && (s.ended || !s.asks),
	}
	switch {
	case !is[a.State]:
		return fmt.Sprintf("it is called %s: %+v", a.State, s)
	case a.State == attention.Asking && (a.What == "" || len(a.Options) == 0):
		return "a question without its text or options"
	case a.Since.After(now):
		return "it waits since the future"
	case a.State.NeedsPerson() && a.Since.IsZero():
		return "nobody knows since when it waits"
	}
	return ""
}

func TestQueuePutsUnknownTimesLast(t *testing.T) {
	at := time.Unix(5, 0)
	queue := attention.Queue([]attention.Item{
		{ID: "z", Attention: attention.Attention{State: attention.Asking}},
		{ID: "b", Attention: attention.Attention{State: attention.Done, Since: at}},
		{ID: "busy", Attention: attention.Attention{State: attention.Busy}},
		{ID: "a", Attention: attention.Attention{State: attention.Failed, Since: at}},
	})
	var got []string
	for _, i := range queue {
		got = append(got, i.ID)
	}
	if want := []string{"a", "b", "z"}; !slices.Equal(got, want) {
		t.Errorf("the queue is %v, want %v", got, want)
	}
}

func TestStates(t *testing.T) {
	counted := attention.Counts([]attention.Item{{Attention: attention.Attention{State: attention.Done}}, {Attention: attention.Attention{State: attention.Done}}})
	if counted[attention.Done] != 2 || counted[attention.Busy] != 0 {
		t.Errorf("counted %v", counted)
	}
	for _, s := range attention.States() {
		if want := s == attention.Asking || s == attention.Failed || s == attention.Done; s.NeedsPerson() != want {
			t.Errorf("%s needs a person: %v", s, !want)
		}
	}
}
