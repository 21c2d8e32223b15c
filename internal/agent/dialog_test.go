package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/screen"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/place/workspace"
	"den/internal/testkit/need"
)

// askingProgram draws a composer, and a dialog over it at a signal or, with
// "byte", at the first byte that it reads. Enter approves there, Esc does not.
// It writes down what was approved and what was submitted.
const askingProgram = `
import os, signal, sys, tty
log, when = sys.argv[1:]
text, asks, asked = '', False, False
def draw():
    body = 'Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel' if asks else '────\r\n❯ ' + text + '\r\n────\r\n status'
    os.write(1, ('\x1b[2J\x1b[H' + body).encode())
def ask(*_):
    global asks, asked
    asks = asked = True
    draw()
def note(what):
    with open(log, 'a') as f:
        f.write(what + '\n')
tty.setraw(0)
signal.signal(signal.SIGUSR1, ask)
with open(log + '.pid', 'w') as f:
    f.write(str(os.getpid()))
draw()
while True:
    for c in os.read(0, 4096).decode():
        if when == 'byte' and not asked:
            ask()
        if asks:
            if c == '\r':
                note('approved')
            asks = asks and c not in '\r\x1b'
        elif c == '\r':
            note('got <' + text + '>')
            text = ''
        else:
            text += c
    draw()
`

// asking is an agent that asks.
type asking struct {
	*agent.Managed
	queue *outbox.Queue
	log   string
}

// newAsking starts one.
func newAsking(t *testing.T, p provider.Provider, when string) asking {
	t.Helper()
	need.Program(t, "python3")
	a := asking{queue: queue(t, t.TempDir()), log: filepath.Join(t.TempDir(), "log")}
	var err error
	a.Managed, err = agent.New(agent.Options{Workspace: "w", Name: "a", Session: "den-w-a", Provider: p, Nudges: a.queue,
		Timing: screen.Timing{Quiet: 100 * time.Millisecond, Patience: 2 * time.Second, Confirm: 2 * time.Second},
		Config: agent.SessionConfig{Command: []string{"python3", "-c", askingProgram, a.log, when}, WorkDir: t.TempDir(), StartupTimeout: time.Minute,
			Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"python3"}}}})
	if err == nil {
		err = a.Start(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	shows(t, a.Managed, "❯")
	return a
}

// ask makes the agent ask, and waits until its screen shows that.
func (a asking) ask(t *testing.T) {
	t.Helper()
	pid, err := strconv.Atoi(awaitFile(t, a.log+".pid"))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGUSR1)
	}
	if err != nil {
		t.Fatal(err)
	}
	shows(t, a.Managed, "Do you want to proceed?")
}

// noted returns what the agent has taken.
func (a asking) noted(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(a.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// A dialog that is drawn when the first byte of a text comes gets no Enter.
func TestADialogAtTheFirstByte(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		a := newAsking(t, p, "byte")
		n, err := a.Nudge(t.Context(), "", "maybe")
		if err != nil || n.Status != conversation.Sent || !strings.Contains(n.Reason, "Enter was not pressed") {
			t.Errorf("%s (%s), %v", n.Status, n.Reason, err)
		}
		if got := a.noted(t); got != "" {
			t.Errorf("it took %q", got)
		}
	})
}

// A dialog that is drawn between den's look and its text gets nothing, and the
// message waits.
func TestADialogBetweenLookAndText(t *testing.T) {
	onNative(t, func(t *testing.T, p provider.Provider) {
		between := newBetween(p)
		a := newAsking(t, between, "")
		held := between.hold(func(k provider.Keystrokes) bool { return k.Text != "" })
		nudged := a.nudge(t, "first", "maybe")
		held(func() { a.ask(t) })
		a.await(t, "first", func(m outbox.Message) bool {
			return m.Status == conversation.Queued && strings.Contains(m.Reason, "dialog")
		})
		if got := a.noted(t); got != "" {
			t.Errorf("it took %q", got)
		}
		if err := p.SendKeys(t.Context(), a.SessionName(), "Esc"); err != nil {
			t.Fatal(err)
		}
		if n := <-nudged; n.Status != conversation.Taken || a.noted(t) != "got <maybe>" {
			t.Errorf("%s (%s): %s", n.Status, n.Reason, a.noted(t))
		}
	})
}

// A dialog that is drawn between den's look and Enter gets no Enter.
func TestADialogBetweenLookAndEnter(t *testing.T) {
	onNative(t, func(t *testing.T, p provider.Provider) {
		between := newBetween(p)
		a := newAsking(t, between, "")
		held := between.hold(func(k provider.Keystrokes) bool { return len(k.Keys) > 0 })
		nudged := a.nudge(t, "first", "maybe")
		held(func() { a.ask(t) })
		if n := <-nudged; n.Status != conversation.Sent || !strings.Contains(n.Reason, "Enter was not pressed") {
			t.Errorf("%s (%s)", n.Status, n.Reason)
		}
		if got := a.noted(t); got != "" {
			t.Errorf("it took %q", got)
		}
	})
}

// Text that somebody types between den's look and a nudge is not merged with it.
func TestTextBetweenLookAndKeys(t *testing.T) {
	onNative(t, func(t *testing.T, p provider.Provider) {
		between := newBetween(p)
		line := newRealLine(t, between, []string{"bash", "--norc"})
		held := between.hold(func(k provider.Keystrokes) bool { return k.Text != "" })
		file := filepath.Join(t.TempDir(), "ran")
		if _, err := line.KeepNudge(t.Context(), "mine", "echo whole >>"+file); err != nil {
			t.Fatal(err)
		}
		held(func() {
			if err := p.(provider.OnTerminal).Type(t.Context(), line.SessionName(), "half "); err != nil {
				t.Error(err)
			}
			shows(t, line.Managed, "ready> half")
		})
		line.nudgeWaits(t)
		if err := p.SendKeys(t.Context(), line.SessionName(), "C-u"); err != nil {
			t.Fatal(err)
		}
		line.nudgeIsTaken(t)
		if got := awaitFile(t, file); got != "whole" {
			t.Errorf("%q was run", got)
		}
	})
}

// nudge sends a nudge, and returns where it comes when it is over.
func (a asking) nudge(t *testing.T, id, text string) <-chan outbox.Message {
	t.Helper()
	over := make(chan outbox.Message, 1)
	go func() {
		n, err := a.Nudge(t.Context(), id, text)
		if err != nil {
			t.Error(err)
		}
		over <- n
	}()
	return over
}

// await waits until a nudge is as it should be.
func (a asking) await(t *testing.T, id string, ok func(outbox.Message) bool) {
	t.Helper()
	var m outbox.Message
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(5 * time.Millisecond) {
		var err error
		if m, err = a.queue.Get(id); err != nil {
			t.Fatal(err)
		}
		if ok(m) {
			return
		}
	}
	t.Fatalf("it stays %s (%s)", m.Status, m.Reason)
}

// betweenLookAndKeys holds keystrokes back that den sends when it has looked.
type betweenLookAndKeys struct {
	*native.Provider

	mu    sync.Mutex // guards the fields below
	which func(provider.Keystrokes) bool
	held  chan struct{} // or nil: nothing is held back
	sent  chan struct{}
}

func newBetween(p provider.Provider) *betweenLookAndKeys {
	return &betweenLookAndKeys{Provider: p.(*native.Provider)}
}

// hold holds the next keystrokes of a kind back. What it returns waits for them,
// and lets them go when something else was done.
func (b *betweenLookAndKeys) hold(which func(provider.Keystrokes) bool) func(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held, sent := make(chan struct{}), make(chan struct{})
	b.which, b.held, b.sent = which, held, sent
	return func(do func()) {
		defer close(sent)
		<-held
		do()
	}
}

// comes is called with keystrokes before they are sent.
func (b *betweenLookAndKeys) comes(k provider.Keystrokes) {
	b.mu.Lock()
	held, sent := b.held, b.sent
	if held == nil || !b.which(k) {
		b.mu.Unlock()
		return
	}
	b.held = nil
	b.mu.Unlock()
	close(held)
	<-sent
}

func (b *betweenLookAndKeys) SendAt(ctx context.Context, name string, at provider.Moment, k provider.Keystrokes) error {
	b.comes(k)
	return b.Provider.SendAt(ctx, name, at, k)
}

func (b *betweenLookAndKeys) Type(ctx context.Context, name, text string) error {
	b.comes(provider.Keystrokes{Text: text})
	return b.Provider.Type(ctx, name, text)
}

func (b *betweenLookAndKeys) SendKeys(ctx context.Context, name string, chords ...string) error {
	b.comes(provider.Keystrokes{Keys: chords})
	return b.Provider.SendKeys(ctx, name, chords...)
}

func (b *betweenLookAndKeys) Nudge(ctx context.Context, name, text string) error {
	b.comes(provider.Keystrokes{Text: text, Keys: []string{"Enter"}})
	return b.Provider.Nudge(ctx, name, text)
}
