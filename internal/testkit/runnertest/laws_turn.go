package runnertest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/testkit/modelstub"
)

// twoTurns: a session takes one prompt after the other, in one process.
func twoTurns(w *world) {
	w.model("the first prompt", modelstub.Say("first ", "answer"))
	w.model("the second prompt", modelstub.Reply{Think: "a thought", Text: []string{"second ", "answer"}})
	s := w.open()
	first := w.good(s, "the first prompt")
	id := s.ID()
	if id == "" {
		w.Error("no session id after the first turn")
	}
	checkAnswer(w, first, "first answer")
	second := w.good(s, "the second prompt")
	checkAnswer(w, second, "second answer")
	w.keepsID(s, id)
	w.asked("the second prompt", "first answer")
	w.closes(s, 0)
	w.closes(s, 0) // again
	<-s.Done()
	if len(w.spawned.all) != 1 {
		w.Errorf("%d processes for two turns", len(w.spawned.all))
	}
}

func checkAnswer(w *world, t turned, text string) {
	w.Helper()
	if t.result.Text != text || !slices.Equal(t.texts(), []string{text}) {
		w.Errorf("result %q, messages %q, want %q", t.result.Text, t.texts(), text)
	}
	if len(t.all(runner.Accepted)) != 1 || firstOf(t.events, runner.Accepted) > firstOf(t.events, runner.Partial, runner.Spoke) {
		w.Errorf("not accepted once, before the answer: %s", describe(t.events))
	}
	if t.result.Usage.InputTokens == 0 || t.result.Usage.OutputTokens == 0 {
		w.Errorf("usage %+v", t.result.Usage)
	}
	if last := t.all(runner.Used); len(last) == 0 || *last[len(last)-1].Usage != t.result.Usage {
		w.Errorf("usage was told as %s, and is %+v at the end", describe(last), t.result.Usage)
	}
	parts := ""
	for _, e := range t.all(runner.Partial) {
		parts += e.Text
	}
	if w.b.Partials && parts != text {
		w.Errorf("the parts are %q, want %q", parts, text)
	}
}

// options: the model, the effort and the system prompt reach the model.
func options(w *world) {
	w.model("which model are you", modelstub.Say("the other one"))
	w.options.Model, w.options.Thinking = w.b.Model, w.b.Thinking
	w.options.SystemPrompt = "Always say please.\n" + strings.Repeat("And thank you. ", 20000) // longer than an argument may be
	s := w.open()
	t := w.good(s, "which model are you")
	if model := t.all(runner.Spoke)[0].Message.Model; model != w.b.Model {
		w.Errorf("the message is from the model %q, want %q", model, w.b.Model)
	}
	w.asked("which model are you", "Always say please.")
	w.asked("which model are you", `"`+w.b.Model+`"`)
	w.asked("which model are you", `"`+w.b.Thinking+`"`)
}

// compacted: an agent that is told to shortens what it remembers, and goes on.
func compacted(w *world) {
	w.model("remember the pears", modelstub.Say("pears"))
	w.model("what do you remember", modelstub.Say("a summary"))
	if w.stub != nil {
		w.stub.Always(modelstub.Contains("summary of the"), modelstub.Say("there were pears"))
		w.stub.Always(modelstub.Contains("handoff summary"), modelstub.Say("there were pears"))
	}
	s := w.open()
	checkAnswer(w, w.good(s, "remember the pears"), "pears")
	id := s.ID()
	t := w.good(s, runner.CompactPrompt)
	if len(t.all(runner.Noted)) == 0 || len(t.all(runner.Accepted)) != 1 {
		w.Errorf("nobody was told: %s", describe(t.events))
	}
	checkAnswer(w, w.good(s, "what do you remember"), "a summary")
	w.keepsID(s, id)
	w.asked("what do you remember", "there were pears")
}

// firstOf is the place of the first event of some kinds, or the number of all.
func firstOf(events []runner.Event, kinds ...runner.EventKind) int {
	for i, e := range events {
		if slices.Contains(kinds, e.Kind) {
			return i
		}
	}
	return len(events)
}

// interrupted: an interrupt ends the turn, and only it.
func interrupted(w *world) {
	hold := make(chan struct{})
	defer close(hold)
	w.model("talk for long", modelstub.Reply{Text: []string{"one ", "two ", "three"}, Hold: hold})
	w.model("are you there", modelstub.Say("yes"))
	s := w.open()
	var asked bool
	t := w.turn(s, "talk for long", func(e runner.Event) {
		if e.Kind == runner.Partial && !asked {
			asked = true
			if err := s.Interrupt(w.Context()); err != nil {
				w.Error(err)
			}
		}
	})
	w.cancelled(t)
	checkAnswer(w, w.good(s, "are you there"), "yes")
	if err := s.Interrupt(w.Context()); err != nil {
		w.Errorf("interrupt without a turn: %v", err)
	}
	w.closes(s, 0)
}

// interruptedWhenAccepted: an interrupt that comes when the agent has only just
// taken the prompt is not lost.
func interruptedWhenAccepted(w *world) {
	interruptEarly(w, func(s runner.Session) turned {
		return w.turn(s, "do not even begin", func(e runner.Event) {
			if e.Kind == runner.Accepted {
				if err := s.Interrupt(w.Context()); err != nil {
					w.Error(err)
				}
			}
		})
	})
}

// interruptedAtOnce: an interrupt may be written right behind the prompt.
func interruptedAtOnce(w *world) {
	interruptEarly(w, func(s runner.Session) turned {
		sent := make(chan error, 1)
		w.spawned.afterWrite("do not even begin", func() {
			go func() { sent <- s.Interrupt(w.Context()) }()
		})
		t := w.turn(s, "do not even begin", nil)
		if err := <-sent; err != nil {
			w.Error(err)
		}
		return t
	})
}

func interruptEarly(w *world, turn func(runner.Session) turned) {
	w.Helper()
	hold := make(chan struct{})
	defer close(hold)
	w.model("are you there", modelstub.Say("yes")) // first: an agent may send both prompts as one
	w.always("do not even begin", modelstub.Reply{Text: []string{"one ", "two"}, Hold: hold})
	s := w.open()
	w.cancelled(turn(s))
	if got := w.good(s, "are you there"); got.result.Text != "yes" {
		w.Errorf("after the interrupt: %q", got.result.Text)
	}
}

// killed: a process that is killed within a turn is gone, leaves nothing
// behind, and its session can be resumed.
func killed(w *world) {
	hold := make(chan struct{})
	defer close(hold)
	w.model("remember the word plum", modelstub.Say("plum, noted"))
	w.model("talk for long", modelstub.Reply{Text: []string{"one ", "two"}, Hold: hold})
	w.model("what was the word", modelstub.Say("plum"))
	s := w.open()
	w.good(s, "remember the word plum")
	id := s.ID()
	t := w.turn(s, "talk for long", func(e runner.Event) {
		if e.Kind == runner.Partial {
			w.kill()
		}
	})
	w.fails(t, runner.Gone)
	<-s.Done()
	w.fails(w.turn(s, "what was the word", nil), runner.Gone)
	w.closes(s, 137)
	s = w.resume(id)
	if got := w.good(s, "what was the word"); got.result.Text != "plum" {
		w.Errorf("after resuming: %q", got.result.Text)
	}
	w.asked("what was the word", "plum, noted")
	w.keepsID(s, id)
}

// resumed: a session that was closed goes on in another process.
func resumed(w *world) {
	w.model("remember the word pear", modelstub.Say("pear, noted"))
	w.model("what was the word", modelstub.Say("pear"))
	s := w.open()
	w.good(s, "remember the word pear")
	id := s.ID()
	w.closes(s, 0)
	s = w.resume(id)
	w.keepsID(s, id)
	t := w.good(s, "what was the word")
	checkAnswer(w, t, "pear")
	w.asked("what was the word", "pear, noted")
	if cost := t.result.Usage; cost.InputTokens > 1000 {
		w.Errorf("the resumed turn is charged with %+v", cost)
	}
}

// noSession: resuming what the agent does not have says so.
func noSession(w *world) {
	w.options.Resume = w.b.Unknown
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	_, err := w.b.Driver.Open(ctx, w.options)
	var f *runner.Failure
	if !errors.As(err, &f) || f.Class != runner.NoSession || f.Message == "" {
		w.Errorf("%v", err)
	}
}

// failures: what the vendor's API refuses is classed, and the session goes on.
func failures(w *world) {
	// An agent may send earlier prompts again: the newest must match first.
	w.always("the last prompt", modelstub.Say("all is well"))
	w.always("too long a prompt", w.b.ContextFull)
	w.always("overload me", modelstub.Fail(529))
	w.always("use me up", modelstub.Fail(429))
	w.always("lock me out", modelstub.Fail(401))
	s := w.open()
	for _, c := range []struct {
		prompt string
		class  runner.Class
	}{
		{"lock me out", runner.Auth}, {"use me up", runner.Quota}, {"overload me", runner.Overload}, {"too long a prompt", runner.Context},
	} {
		w.fails(w.turn(s, c.prompt, nil), c.class)
	}
	checkAnswer(w, w.good(s, "the last prompt"), "all is well")
	w.closes(s, 0)
}

// modelCut: a model whose stream breaks is a failure that passes.
func modelCut(w *world) {
	w.always("break off", modelstub.Break(modelstub.Cut))
	s := w.open()
	w.fails(w.turn(s, "break off", nil), runner.Overload)
	w.closes(s, 0)
}

// contextEnded: a turn whose context ends returns at once.
func contextEnded(w *world) {
	hold := make(chan struct{})
	defer close(hold)
	w.model("talk for long", modelstub.Reply{Text: []string{"one ", "two"}, Hold: hold})
	s := w.open()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	_, err := s.Turn(ctx, "talk for long", func(e runner.Event) {
		if e.Kind == runner.Partial {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		w.Errorf("%v", err)
	}
	s.Close()
	<-s.Done()
}

// closedInTurn: closing a session ends the turn that is running.
func closedInTurn(w *world) {
	hold := make(chan struct{})
	defer close(hold)
	w.model("talk for long", modelstub.Reply{Text: []string{"one ", "two"}, Hold: hold})
	s := w.open()
	closed := make(chan runner.Exit, 1)
	begun := make(chan struct{})
	go func() {
		<-begun
		closed <- s.Close()
	}()
	var once bool
	t := w.turn(s, "talk for long", func(e runner.Event) {
		if e.Kind == runner.Partial && !once {
			once = true
			close(begun)
		}
	})
	exit := <-closed
	// An agent may end its turn in its own way before it ends.
	if t.err == nil && !t.result.Cancelled {
		w.Errorf("the turn ended with %+v", t.result)
	}
	if exit.Code >= 128 {
		w.Errorf("it had to be killed: %+v", exit)
	}
}

// hostile: messages of unknown types and lines that are none change nothing,
// and are logged.
func hostile(w *world) {
	twoTurns(w)
	for _, part := range []string{"npm WARN this is no JSON", "unknown kind", "messages of unknown kinds", "stderr: noise"} {
		if !w.logged(part) {
			w.Errorf("%q was not logged", part)
		}
	}
}

// outputCut: an agent whose output ends within a line is gone.
func outputCut(w *world) {
	s := w.open()
	w.good(s, "the first prompt")
	w.fails(w.turn(s, "the second prompt", nil), runner.Gone)
	<-s.Done()
	s.Close()
}

// deaf: an agent that does not want to end is ended.
func deaf(w *world) {
	s := w.open()
	w.good(s, "the first prompt")
	w.good(s, "the second prompt")
	w.closes(s, 137)
}

// notInstalled: an agent that is missing is not found.
func notInstalled(w *world) {
	w.options.Command = []string{filepath.Join(w.TempDir(), "no-such-agent")}
	_, err := w.b.Driver.Open(w.Context(), w.options)
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "no-such-agent") {
		w.Errorf("%v", err)
	}
	w.options.Command = nil
	w.options.Extra = map[string]string{"no_such_option": "x"}
	if _, err := w.b.Driver.Open(w.Context(), w.options); fault.KindOf(err) != fault.Usage {
		w.Errorf("an unknown option: %v", err)
	}
}
