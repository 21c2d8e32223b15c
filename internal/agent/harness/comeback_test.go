package harness_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/onirc"
	"den/internal/base/fault"
	"den/internal/chat/irc"
)

// overheard is a place in the channels whose sends a test sees.
type overheard struct {
	harness.Chat
	sent func(again bool, err error) error // what became of one, and what is told of it
}

func (o overheard) Send(ctx context.Context, target, text, id string, again bool) error {
	return o.sent(again, o.Chat.Send(ctx, target, text, id, again))
}

// overhears has a harness's sends seen by the test.
func overhears(sent func(again bool, err error) error) func(*harness.Options) {
	return func(o *harness.Options) {
		o.Connect = func(ctx context.Context, c harness.Config, since func(string) (ipc.Line, bool), h harness.Hearer, logf func(string, ...any), getenv func(string) string) (harness.Chat, error) {
			chat, err := onirc.Connect(ctx, c, since, h, logf, getenv)
			return overheard{chat, sent}, err
		}
	}
}

// Who asks in private and is gone when the answer comes, as everybody is who
// has lost the server, gets it when they are back. Others do not wait for it.
func TestAnswerWaitsForWhoComesBack(t *testing.T) {
	w := newWorld(t)
	away := make(chan struct{}, 100)
	block := filepath.Join(w.dir, "block")
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start("echo", `while [ -e `+block+` ]; do sleep 0.05; done; `+sayer, overhears(func(_ bool, err error) error {
		if fault.KindOf(err) == fault.NotFound {
			away <- struct{}{}
		}
		return err
	}))
	bob, eve := w.person("bob"), w.person("eve")
	defer eve.Close()
	say(t, bob, "echo", "say it took a while")
	bob.Close()
	awaitEvent(t, eve, func(e irc.Event) bool { return e.Kind == irc.EventQuit && e.From.Nick == "bob" })
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	<-away
	say(t, eve, "echo", "say for eve")
	if e := hears(t, eve, "echo", 1)[0]; e.Text != "for eve" {
		t.Errorf("%q", e.Text)
	}
	bob = w.person("bob")
	defer bob.Close()
	if e := hears(t, bob, "echo", 1)[0]; e.Text != "it took a while" || e.Target != "bob" {
		t.Errorf("%q to %s", e.Text, e.Target)
	}
}

// An answer of which nobody knows whether the server took it is looked for in
// the history, also behind more messages than a server gives at once.
func TestAnswerIsFoundFarBack(t *testing.T) {
	w := newWorld(t)
	sent, talked := make(chan struct{}), make(chan struct{})
	first := true
	w.start("echo", sayer, overhears(func(_ bool, err error) error {
		if !first || err != nil {
			return err
		}
		first = false
		close(sent)
		<-talked
		return fault.Errorf(fault.Unsure, "the connection was lost")
	}))
	bob, eve := w.person("bob"), w.person("eve")
	defer bob.Close()
	defer eve.Close()
	say(t, bob, "#general", "@echo say one")
	<-sent
	for i := range 400 {
		say(t, eve, "#general", fmt.Sprint("idle talk ", i))
	}
	close(talked)
	say(t, bob, "#general", "@echo say two")
	for i, e := range hears(t, bob, "echo", 2) {
		if want := []string{"one", "two"}[i]; e.Text != want {
			t.Errorf("%q, want %q", e.Text, want)
		}
	}
	if n := len(historyOf(t, bob, "echo")); n != 2 {
		t.Errorf("the history has %d answers", n)
	}
}

// historyOf is what somebody said in the channel lately.
func historyOf(t *testing.T, c *irc.Client, nick string) []irc.Event {
	t.Helper()
	newest, err := c.History(t.Context(), "#general", irc.Cursor{}, 200)
	if err != nil || len(newest) == 0 {
		t.Fatalf("%d messages, %v", len(newest), err)
	}
	before, err := c.HistoryBefore(t.Context(), "#general", irc.Cursor{ID: newest[0].ID}, 250)
	if err != nil {
		t.Fatal(err)
	}
	var said []irc.Event
	for _, e := range append(before, newest...) {
		if e.Kind == irc.EventMessage && e.From.Nick == nick {
			said = append(said, e)
		}
	}
	return said
}
