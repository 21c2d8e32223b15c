package providertest

import (
	"os"
	"path/filepath"
	"time"

	"den/internal/testkit/need"

	"den/internal/base/fault"
)

var queryCases = []testCase{
	{"DeadIsNotRunning", deadIsNotRunning},
	{"ProcessAlive", processAlive},
	{"Activity", activity},
	{"ChangeStamp", changeStamp},
	{"CouldNotAsk", couldNotAsk},
}

// deadIsNotRunning asks about a session that still stands: its text and its
// metadata can be read, its command has ended.
func deadIsNotRunning(w *world) {
	w.start("w", "exit", "1")
	w.ends("w")
	for _, names := range [][]string{nil, {filepath.Base(w.helper)}} {
		if names != nil && w.lacks(ProcessAlive) {
			continue
		}
		alive, err := w.p.ProcessAlive(w.Context(), "w", names)
		w.ok("ProcessAlive", err)
		w.equal("ProcessAlive of a session that has ended", alive, false)
	}
	w.lists("after its end", w.p, "")
	if !w.lacks(Nudge) {
		w.is("Nudge of a session that has ended", w.p.Nudge(w.Context(), "w", "text"), fault.NotRunning)
	}
	if !w.lacks(SendKeys) {
		w.is("SendKeys to a session that has ended", w.p.SendKeys(w.Context(), "w", "Enter"), fault.NotRunning)
	}
	_, err := w.p.GetMeta(w.Context(), "w", "k")
	w.ok("GetMeta of a session that has ended", err)
}

func processAlive(w *world) {
	w.needs(ProcessAlive)
	dir := w.path("tree")
	w.ok("make directory", os.Mkdir(dir, 0o755))
	script := w.path("agent-script.sh")
	w.program(script, "#!/bin/sh\necho begun > \"$1\"\nwhile read line; do :; done\nexec sleep 1000\n")
	w.start("helper", "tree", dir)
	byShell, byKernel := w.path("by-shell"), w.path("by-kernel")
	w.startConfig(w.p, "by-shell", w.command("/bin/sh", script, byShell))
	w.startConfig(w.p, "by-kernel", w.command(script, byKernel))
	w.appears(byShell)
	w.appears(byKernel)
	helper := filepath.Base(w.helper)
	for _, c := range []struct {
		session string
		names   []string
		want    bool
	}{
		{"helper", nil, true},
		{"helper", []string{helper}, true},
		{"helper", []string{"nonesuch", helper}, true},
		{"helper", []string{"nonesuch"}, false},
		{"helper", []string{helper[:3]}, false}, // a part of a name is no name
		{"helper", []string{helper + "x"}, false},
		{"helper", []string{""}, false},
		{"by-shell", []string{"agent-script.sh"}, true},
		{"by-shell", []string{"agent"}, false},
		{"by-kernel", []string{"agent-script.sh"}, true},
		{"by-kernel", []string{helper}, false}, // another session's
	} {
		got, err := w.p.ProcessAlive(w.Context(), c.session, c.names)
		w.ok("ProcessAlive", err)
		if got != c.want {
			w.Errorf("ProcessAlive(%q, %q) = %v, want %v", c.session, c.names, got, c.want)
		}
	}
}

func activity(w *world) {
	w.needs(GetLastActivity)
	begun := time.Now()
	w.start("w", "lines", "1", "0", "end")
	w.ends("w")
	at := w.activity("w")
	// A place may count whole seconds, and the suite's clock is its own.
	if at.Before(begun.Add(-2*time.Second)) || at.After(time.Now().Add(2*time.Second)) {
		w.Errorf("a session of now was last active at %v", at)
	}
	if w.lacks(Nudge) {
		return
	}
	w.start("echo", "echo")
	first := w.activity("echo")
	w.eventually("activity moves with output", func() bool {
		w.ok("Nudge", w.p.Nudge(w.Context(), "echo", "x"))
		return w.activity("echo").After(first)
	})
}

// changeStamp differs once a program has written, and is the same while it is
// silent.
func changeStamp(w *world) {
	stamp := func() string {
		w.Helper()
		s, err := w.p.ChangeStamp(w.Context(), "w")
		w.ok("ChangeStamp", err)
		return s
	}
	silent := func() (s string) {
		w.Helper()
		w.eventually("the stamp stays the same", func() bool {
			before := s
			s = stamp()
			return s == before
		})
		return s
	}
	_, err := w.p.ChangeStamp(w.Context(), "w")
	w.is("ChangeStamp of a session that never was", err, fault.NotFound)
	w.start("w", "echo")
	first := silent()
	if !w.lacks(Nudge) {
		w.ok("Nudge", w.p.Nudge(w.Context(), "w", "x"))
		w.eventually("the stamp changes with output", func() bool { return stamp() != first })
	}
	last := silent()
	w.ok("Stop", w.p.Stop(w.Context(), "w"))
	w.start("w", "echo")
	w.eventually("another session has another stamp", func() bool { return stamp() != last })
}

func (w *world) activity(name string) time.Time {
	w.Helper()
	at, err := w.p.GetLastActivity(w.Context(), name)
	w.ok("GetLastActivity", err)
	return at
}

// couldNotAsk must not look like an answer: whoever keeps agents would start a
// second one.
func couldNotAsk(w *world) {
	if w.h.Break == nil {
		need.Apart(w, "the harness has no Break: nothing can come between this provider and its sessions")
	}
	w.start("w", "idle")
	asked := w.p
	if w.h.Impatient != nil {
		asked = w.h.Impatient(w.T, w.p)
		if !w.running(asked, "w") { // connected, as one that has run for a while
			w.Fatal("it does not run")
		}
	}
	mend := w.h.Break(w.T, w.p)
	defer mend()
	ctx := w.Context()
	failed := func(what string, err error) {
		w.Helper()
		if kind := fault.KindOf(err); err == nil || kind == fault.NotFound || kind == fault.NotRunning {
			w.Errorf("%s at a place that cannot be asked = %v", what, err)
		}
	}
	_, err := asked.IsRunning(ctx, "w")
	failed("IsRunning", err)
	_, err = asked.ProcessAlive(ctx, "w", nil)
	failed("ProcessAlive", err)
	_, err = asked.ListRunning(ctx, "")
	failed("ListRunning", err)
	_, err = asked.Observe(ctx, "")
	failed("Observe", err)
	failed("Stop", asked.Stop(ctx, "w"))
	_, err = asked.GetMeta(ctx, "w", "k")
	failed("GetMeta", err)
	failed("SetMeta", asked.SetMeta(ctx, "w", "k", "v"))
	c, _ := w.config("idle")
	failed("Start", asked.Start(ctx, "w", c))
	mend()
	w.equal("the session runs when it can be asked again", w.running(w.p, "w"), true)
}
