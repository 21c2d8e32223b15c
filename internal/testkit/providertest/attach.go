package providertest

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"

	"github.com/creack/pty"
)

var attachCases = []testCase{
	{"Attach", attach},
	{"AttachEnds", attachEnds},
	{"AttachCancelled", attachCancelled},
}

// person is somebody at a terminal.
type person struct {
	keys, screen *os.File // their end
	terminal     *os.File
	left         chan error
	seen         chan string
}

// attached joins a person to a session, until the context ends.
func (w *world) attached(ctx context.Context, name string) *person {
	w.Helper()
	ours, theirs, err := pty.Open()
	w.ok("open a terminal", err)
	w.ok("set its size", pty.Setsize(ours, &pty.Winsize{Cols: 100, Rows: 30}))
	p := &person{keys: ours, screen: ours, terminal: theirs, left: make(chan error, 1), seen: make(chan string, 1024)}
	w.Cleanup(func() { ours.Close(); theirs.Close() }) // Best effort.
	go func() {
		defer close(p.seen)
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			if err != nil {
				return
			}
			p.seen <- string(buf[:n])
		}
	}()
	go func() { p.left <- w.p.Attach(ctx, name, theirs, theirs) }()
	return p
}

// sees waits until the person's terminal was sent a text.
func (w *world) personSees(p *person, text string) {
	w.Helper()
	all := ""
	for timeout := time.After(w.h.Patience); !strings.Contains(all, text); {
		select {
		case part := <-p.seen:
			all += part
		case err := <-p.left:
			w.Fatalf("Attach returned %v before it showed %q; it showed %q", err, text, all)
		case <-timeout:
			w.Fatalf("the terminal does not show %q; it shows %q", text, all)
		}
	}
}

func (w *world) hasLeft(p *person) {
	w.Helper()
	w.ok("Attach", received(w, "Attach returns", p.left))
}

func attach(w *world) {
	w.needs(Attach)
	w.start("w", "echo")
	audience, _ := w.p.(provider.OnTerminal)
	if audience != nil {
		n, typed, err := audience.Attached(w.Context(), "w")
		w.ok("Attached", err)
		if n != 0 || !typed.IsZero() {
			w.Errorf("Attached = %d, %v before anybody was", n, typed)
		}
	}
	p := w.attached(w.Context(), "w")
	begun := time.Now().Add(-time.Second)
	if audience != nil {
		w.eventually("somebody is attached", func() bool {
			n, _, err := audience.Attached(w.Context(), "w")
			w.ok("Attached", err)
			return n == 1
		})
	}
	_, err := p.keys.WriteString("hello\r")
	w.ok("type", err)
	w.personSees(p, "got <hello>")
	if audience != nil {
		_, typed, err := audience.Attached(w.Context(), "w")
		w.ok("Attached", err)
		if typed.Before(begun) || typed.After(time.Now().Add(time.Second)) {
			w.Errorf("a person typed just now, not at %v", typed)
		}
	}
	_, err = p.keys.WriteString(w.h.Detach)
	w.ok("type", err)
	w.hasLeft(p)
	w.equal("the session runs when the person has left", w.running(w.p, "w"), true)
}

func attachEnds(w *world) {
	w.needs(Attach)
	w.start("w", "echo")
	p := w.attached(w.Context(), "w")
	_, err := p.keys.WriteString("hello\r")
	w.ok("type", err)
	w.personSees(p, "got <hello>")
	w.stop("w")
	received(w, "Attach returns when the session ends", p.left) // that it is over may be an error, or not
	w.is("Attach to a session that has ended", w.p.Attach(w.Context(), "w", p.terminal, p.terminal), fault.NotRunning)
}

func attachCancelled(w *world) {
	w.needs(Attach)
	w.start("w", "echo")
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	p := w.attached(ctx, "w")
	_, err := p.keys.WriteString("hello\r")
	w.ok("type", err)
	w.personSees(p, "got <hello>")
	cancel()
	if err := received(w, "Attach returns when its context ends", p.left); !errors.Is(err, context.Canceled) {
		w.Errorf("Attach whose context ended = %v", err)
	}
	w.equal("the session runs without its onlooker", w.running(w.p, "w"), true)
}
