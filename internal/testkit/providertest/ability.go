package providertest

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

var abilityCases = []testCase{
	{"Unsupported", unsupported},
	{"Watch", watch},
	{"Observe", observe},
	{"AwaitReady", awaitReady},
	{"Processes", processes},
	{"Title", title},
}

// unsupported holds a provider to its list: what is on it says so, what is not
// works.
func unsupported(w *world) {
	w.start("w", "idle")
	ctx := w.Context()
	for ability, try := range map[string]func() error{
		Nudge:           func() error { return w.p.Nudge(ctx, "w", "x") },
		SendKeys:        func() error { return w.p.SendKeys(ctx, "w", "x") },
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
		w.is(Attach, w.p.Attach(ctx, "w", os.Stdin, os.Stdout), fault.Unsupported)
	}
}

func awaitReady(w *world) {
	readier := w.onTerminal()
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

func processes(w *world) {
	lister := able[provider.ProcessLister](w, "is no ProcessLister: its processes may be another machine's")
	list := func(name string) []int {
		w.Helper()
		pids, err := lister.Processes(w.Context(), name)
		w.ok("Processes", err)
		return pids
	}
	w.equal("processes of a session that never was", len(list("never-was")), 0)
	w.startConfig(w.p, "two", w.command("/bin/sh", "-c", "sleep 1000 & wait"))
	w.startConfig(w.p, "other", w.command("/bin/cat"))
	w.eventually("the shell's child is listed", func() bool { return len(list("two")) >= 2 })
	for _, pid := range list("other") {
		if slices.Contains(list("two"), pid) {
			w.Errorf("process %d is listed for two sessions", pid)
		}
	}
	w.stop("two")
	w.equal("processes of a session that was stopped", len(list("two")), 0)
}

func title(w *world) {
	titler := w.onTerminal()
	_, err := titler.Title(w.Context(), "never-was")
	w.is("Title of a session that never was", err, fault.NotFound)
	const want = "✋ Action Required (a, b)"
	w.startConfig(w.p, "w", w.command("/bin/sh", "-c", "printf '\\033]2;"+want+"\\007'; exec cat"))
	got := ""
	w.eventually("the title is "+want, func() bool {
		got, err = titler.Title(w.Context(), "w")
		w.ok("Title", err)
		return got == want
	})
	w.stop("w")
	_, err = titler.Title(w.Context(), "w")
	w.is("Title of a session that was stopped", err, fault.NotRunning, fault.NotFound)
}
