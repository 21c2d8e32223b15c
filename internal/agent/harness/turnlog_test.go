package harness_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/turns"
	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/base/poll"
)

// working is a driver whose agent thinks, uses a tool that it asks for, and
// answers; 'fail' fails.
type working struct{ asking }

func (working) Open(_ context.Context, o runner.Options) (runner.Session, error) {
	return &workingSession{askingSession{options: o, done: make(chan struct{})}}, nil
}

type workingSession struct{ askingSession }

func (s *workingSession) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	if strings.Contains(prompt, "fail") {
		return runner.Result{}, &runner.Failure{Class: runner.Context, Message: "too long"}
	}
	each(runner.Event{Kind: runner.Spoke, Message: runner.Think("", "let me see")})
	each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool("", "u1", "Bash", json.RawMessage(`{"command":"make"}`))})
	d := s.options.Ask(ctx, permission.Request{Tool: "Bash", Kind: permission.Execute, Command: "make"})
	each(runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{ID: "u1", Output: "no rule", Failed: !d.Allow, Denied: !d.Allow}})
	each(runner.Event{Kind: runner.Spoke, Message: runner.Say("", "it is "+d.Reason)})
	return runner.Result{Text: "it is " + d.Reason, Usage: runner.Usage{InputTokens: 7, OutputTokens: 3}}, nil
}

// kinds are the kinds of entries, in order.
func kinds(p turns.Page) string {
	var all []string
	for _, e := range p.Entries {
		all = append(all, string(e.Kind))
	}
	return strings.Join(all, " ")
}

// What is said and done in turns is kept: who asked what, what the agent did, what
// it asked for, and how that ended.
func TestTurnsAreKept(t *testing.T) {
	w := newWorld(t)
	a := w.start("worker", sayer, func(o *harness.Options) {
		o.Driver, o.Config.Backend, o.Config.Owner, o.Config.OwnerByNick = working{}, "working", "bob", true
	})
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@worker build it")
	id := approvalID(t, hears(t, bob, "worker", 1)[0])
	say(t, bob, "#general", "@worker deny "+id+" --why later")
	hears(t, bob, "worker", 1)
	conn := w.dial("worker")
	defer conn.Close()
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Prompt, Message: "fail now", MessageID: "n1"}, nil); err != nil {
		t.Fatal(err)
	}
	var p turns.Page
	err := poll.Until(t.Context(), func() (done bool, err error) {
		p, err = turns.Read(a.state, 0, 0, 100)
		n := len(p.Entries)
		return n > 0 && p.Entries[n-1].Kind == turns.Ended && p.Entries[n-1].Failed, err
	})
	if err != nil {
		t.Fatalf("%v: %s", err, kinds(p))
	}
	for i, e := range p.Entries {
		if e.Seq != uint64(i+1) || time.Since(e.At) > time.Hour {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	// A decision is told while the agent goes on already: its place may differ.
	e := p.Entries
	if i := slices.IndexFunc(e, func(e turns.Entry) bool { return e.Kind == turns.Decided }); i > 4 {
		e = slices.Insert(slices.Delete(slices.Clone(e), i, i+1), 4, e[i])
	}
	if got := kinds(turns.Page{Entries: e}); got != "prompt thought use asked decided result said ended prompt ended" {
		t.Fatalf("%s", got)
	}
	if f := e[0].From; f == nil || f.Kind != turns.FromChannel || f.Who != "bob" || f.Where != "#general" || f.Agent || !strings.Contains(e[0].Text, "build it") {
		t.Errorf("prompt: %+v, from %+v", e[0], f)
	}
	if e[1].Text != "let me see" || e[2].Tool != "Bash" || e[2].Use != "u1" || !strings.Contains(e[2].Input, "make") {
		t.Errorf("%+v\n%+v", e[1], e[2])
	}
	if e[3].Approval != id || !strings.Contains(e[3].Text, "make") || e[4].Approval != id || e[4].State != "denied" || !strings.HasPrefix(e[4].By, "bob") || e[4].Text != "later" {
		t.Errorf("%+v\n%+v", e[3], e[4])
	}
	if !e[5].Denied || e[5].Use != "u1" || e[7].Usage == nil || e[7].Usage.InputTokens != 7 || e[7].Failed {
		t.Errorf("%+v\n%+v", e[5], e[7])
	}
	for i := range 8 {
		if e[i].Turn != e[0].Turn {
			t.Errorf("entry %d: %+v", i, e[i])
		}
	}
	if e[8].From.Kind != turns.FromNudge || e[8].Turn != "n1" || e[9].Class != string(runner.Context) || !strings.Contains(e[9].Text, "too long") {
		t.Errorf("%+v\n%+v", e[8], e[9])
	}
}
