package providertest

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"den/internal/fault"
	"den/internal/provider"

	"github.com/creack/pty"
)

var abilityCases = []testCase{
	{"Unsupported", unsupported},
	{"Watch", watch},
	{"AwaitReady", awaitReady},
	{"Attach", attach},
	{"AttachEnds", attachEnds},
}

// unsupported holds a provider to its list: what is on it says so, what is not
// works.
func unsupported(w *world) {
	w.start("w", "idle")
	ctx := w.Context()
	for ability, try := range map[string]func() error{
		Nudge:           func() error { return w.p.Nudge(ctx, "w", "x") },
		SendKeys:        func() error { return w.p.SendKeys(ctx, "w", "x") },
		ClearScrollback: func() error { return w.p.ClearScrollback(ctx, "w") },
		CopyTo:          func() error { return w.p.CopyTo(ctx, "w", w.helper, "copy") },
		Peek:            func() error { _, err := w.p.Peek(ctx, "w", 1); return err },
		GetLastActivity: func() error { _, err := w.p.GetLastActivity(ctx, "w"); return err },
		ProcessAlive:    func() error { _, err := w.p.ProcessAlive(ctx, "w", []string{"x"}); return err },
	} {
		if w.lacks(ability) {
			w.is(ability, try(), fault.Unsupported)
		} else if err := try(); err != nil {
			w.Errorf("%s: %v", ability, err)
		}
	}
	// These two are tried for real elsewhere; here they would disturb.
	if w.lacks(Interrupt) {
		w.is(Interrupt, w.p.Interrupt(ctx, "w"), fault.Unsupported)
	}
	if w.lacks(Attach) {
		w.is(Attach, w.p.Attach(ctx, "w", provider.Terminal{In: os.Stdin, Out: os.Stdout}), fault.Unsupported)
	}
	// No process can have such a terminal; a provider that passes bytes on can.
	err := w.p.Attach(ctx, "w", provider.Terminal{In: strings.NewReader(""), Out: &strings.Builder{}})
	w.is("Attach of no terminal", err, fault.Unsupported, fault.Usage, "")
}

func watch(w *world) {
	watcher, ok := w.p.(provider.Watcher)
	if !ok {
		w.Skip("the provider is no Watcher: sessions are asked about, it does not tell")
	}
	w.start("before", "exit", "0")
	w.ends("before")
	w.start("runs", "idle")
	w.start("stopped", "idle")
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	ended, err := watcher.Watch(ctx)
	w.ok("Watch", err)
	again := w.opened(w.h.Reopen(w.T, w.p))
	c, _ := w.config("exit", "0")
	w.startConfig(again, "started-elsewhere", c)
	w.startConfig(w.p, "at-once", w.command("/bin/true"))
	if err := w.p.Start(ctx, "never-ran", w.command("/no/such/program")); err == nil {
		w.Error("Start of what cannot be executed: no error")
	}
	w.startOn(again, "killed", "die", "9")
	w.ok("Stop", again.Stop(ctx, "stopped"))
	// Nobody has received yet: a slow receiver loses nothing.
	want := []string{"at-once", "killed", "started-elsewhere", "stopped"}
	var got []string
	for range want {
		select {
		case name := <-ended:
			got = append(got, name)
		case <-time.After(w.h.Patience):
			w.Fatalf("told of %q, not of all of %q", got, want)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.Errorf("told of %q, want %q", got, want)
	}
	w.start("at-once", "exit", "0") // a name can end twice
	select {
	case name := <-ended:
		w.equal("told of", name, "at-once")
	case <-time.After(w.h.Patience):
		w.Fatal("not told of the second end")
	}
	if w.running(w.p, "at-once") {
		w.Error("told of an end, and it runs")
	}
	cancel()
	select {
	case name, open := <-ended:
		if open {
			w.Errorf("told of %q, which did not end", name)
		}
	case <-time.After(w.h.Patience):
		w.Error("the channel is not closed when the context has ended")
	}
}

func awaitReady(w *world) {
	readier, ok := w.p.(provider.Readier)
	if !ok {
		w.Skip("the provider is no Readier: it does not know when programs wait")
	}
	w.is("AwaitReady of a session that never was", readier.AwaitReady(w.Context(), "never-was"), fault.NotFound)
	w.startConfig(w.p, "w", w.command("/bin/cat"))
	ctx, cancel := context.WithTimeout(w.Context(), w.h.Patience)
	defer cancel()
	w.ok("AwaitReady", readier.AwaitReady(ctx, "w"))
	w.start("busy", "idle")
	short, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
	defer cancel()
	if err := readier.AwaitReady(short, "busy"); !errors.Is(err, context.DeadlineExceeded) {
		w.Errorf("AwaitReady of a program that does not read = %v", err)
	}
	ends := make(chan error, 1)
	go func() { ends <- readier.AwaitReady(ctx, "busy") }()
	w.stop("busy")
	w.is("AwaitReady of a session that ends first", <-ends, fault.NotRunning)
}

// person is somebody at a terminal.
type person struct {
	keys, screen *os.File // their end
	terminal     provider.Terminal
	left         chan error
	seen         chan string
}

// attached joins a person to a session.
func (w *world) attached(name string) *person {
	w.Helper()
	ours, theirs, err := pty.Open()
	w.ok("open a terminal", err)
	w.ok("set its size", pty.Setsize(ours, &pty.Winsize{Cols: 100, Rows: 30}))
	p := &person{keys: ours, screen: ours, terminal: provider.Terminal{In: theirs, Out: theirs}, left: make(chan error, 1), seen: make(chan string, 1024)}
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
	go func() { p.left <- w.p.Attach(w.Context(), name, p.terminal) }()
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
	select {
	case err := <-p.left:
		w.ok("Attach", err)
	case <-time.After(w.h.Patience):
		w.Fatal("Attach does not return")
	}
}

func attach(w *world) {
	w.needs(Attach)
	w.start("w", "echo")
	audience, _ := w.p.(provider.Audience)
	if audience != nil {
		n, typed, err := audience.Attached(w.Context(), "w")
		w.ok("Attached", err)
		if n != 0 || !typed.IsZero() {
			w.Errorf("Attached = %d, %v before anybody was", n, typed)
		}
	}
	p := w.attached("w")
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
	if !w.running(w.p, "w") {
		w.Error("the session ended when the person left")
	}
}

func attachEnds(w *world) {
	w.needs(Attach)
	w.start("w", "echo")
	p := w.attached("w")
	_, err := p.keys.WriteString("hello\r")
	w.ok("type", err)
	w.personSees(p, "got <hello>")
	w.stop("w")
	select {
	case <-p.left: // that the session is over may be an error, or not
	case <-time.After(w.h.Patience):
		w.Fatal("Attach does not return when the session ends")
	}
	t := provider.Terminal{In: p.terminal.In, Out: p.terminal.Out}
	w.is("Attach to a session that has ended", w.p.Attach(w.Context(), "w", t), fault.NotRunning)
}
