package providertest

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

var lifecycleCases = []testCase{
	{"StartStop", startStop},
	{"StopTwice", stopTwice},
	{"StartTwiceIsBusy", startTwice},
	{"StartReplacesEnded", startReplaces},
	{"CannotExecute", cannotExecute},
	{"BadConfig", badConfig},
	{"StartCancelled", startCancelled},
	{"StopEndsTheTree", stopTree},
	{"Interrupt", interrupt},
	{"FoundAgain", foundAgain},
}

func startStop(w *world) {
	w.equal("running before its start", w.running(w.p, "w"), false)
	w.start("w", "idle")
	w.equal("running after Start", w.running(w.p, "w"), true)
	w.stop("w")
	w.equal("running after Stop", w.running(w.p, "w"), false)
	w.lists("after Stop", w.p, "")
}

func stopTwice(w *world) {
	w.stop("never-was")
	w.start("w", "idle")
	w.stop("w")
	w.stop("w")
	w.start("ended", "exit", "0")
	w.ends("ended")
	w.stop("ended")
}

func startTwice(w *world) {
	w.start("w", "echo")
	w.ok("SetMeta", w.p.SetMeta(w.Context(), "w", "k", "first"))
	second, ready := w.config("idle")
	w.is("the second Start", w.p.Start(w.Context(), "w", second), fault.Busy)
	if _, err := os.Stat(ready); err == nil {
		w.Error("the second Start ran its command")
	}
	if !w.running(w.p, "w") {
		w.Fatal("the second Start ended the first session")
	}
	w.hasMeta("w", "k", "first")
	w.lists("after both", w.p, "", "w")
}

func startReplaces(w *world) {
	for i, code := range []string{"1", "2", "3"} {
		w.start("w", "exit", code)
		w.ends("w")
		w.equal("exit code", w.exited(w.p, "w").Code, i+1)
	}
	w.start("w", "idle")
	e, err := w.p.Exit(w.Context(), "w")
	w.ok("Exit", err)
	if e != nil {
		w.Errorf("Exit of a session that was started again = %+v, want nil", *e)
	}
	w.stop("w")
	w.start("w", "idle") // one that was stopped is replaced as well
}

func cannotExecute(w *world) {
	noInterpreter := w.path("no-interpreter")
	w.program(noInterpreter, "#!/no/such/interpreter\n")
	notExecutable := w.path("not-executable")
	w.ok("write", os.WriteFile(notExecutable, []byte("text"), 0o644))
	for _, argv0 := range []string{"/no/such/program", "no-such-program-on-the-path", w.dir, noInterpreter, notExecutable} {
		w.fails("Start of "+argv0, w.p.Start(w.Context(), "w", w.command(argv0)))
		w.equal("after Start of "+argv0+", running", w.running(w.p, "w"), false)
		w.lists("after Start of "+argv0, w.p, "")
		_, err := w.p.Exit(w.Context(), "w")
		w.is("Exit of what never ran", err, fault.NotFound)
	}
	w.start("w", "idle") // the name is free
}

func badConfig(w *world) {
	noDir := w.command(w.helper, "idle", w.path("r"))
	noDir.WorkDir = w.path("missing")
	relative := w.command(w.helper, "idle", w.path("r"))
	relative.WorkDir = "."
	for what, c := range map[string]provider.Config{"no command": w.command(), "an empty command": w.command(""), "a missing directory": noDir, "a relative directory": relative} {
		w.fails("Start with "+what, w.p.Start(w.Context(), "w", c))
		w.equal("after Start with "+what+", running", w.running(w.p, "w"), false)
	}
}

func startCancelled(w *world) {
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	c, _ := w.config("idle")
	w.fails("Start with a cancelled context", w.p.Start(ctx, "w", c))
	w.lists("after a cancelled Start", w.p, "")
	w.start("w", "idle")
}

func stopTree(w *world) {
	dir := w.path("tree")
	w.ok("make directory", os.Mkdir(dir, 0o755))
	w.start("w", "tree", dir)
	roles := []string{"root", "child", "grandchild", "stubborn", "daemon"}
	for _, role := range roles {
		if !w.lives(dir, role) {
			w.Fatalf("%s does not live before Stop", role)
		}
	}
	if w.h.KeepsDaemons {
		roles = slices.DeleteFunc(roles, func(r string) bool { return r == "daemon" })
	}
	w.stop("w")
	for _, role := range roles {
		if w.lives(dir, role) {
			w.Errorf("%s lives after Stop", role)
		}
	}
	if w.h.KeepsDaemons {
		w.endProcesses(filepath.Base(w.helper), dir)
	}
}

func interrupt(w *world) {
	w.is("Interrupt of a session that never was", w.p.Interrupt(w.Context(), "never-was"), fault.NotFound)
	w.needs(Interrupt)
	file := w.path("interrupted")
	w.start("w", "trap", file)
	w.start("other", "idle")
	w.ok("Interrupt", w.p.Interrupt(w.Context(), "w"))
	w.appears(file)
	if !w.running(w.p, "w") || !w.running(w.p, "other") {
		w.Error("Interrupt ended a session that caught it, or another one")
	}
	w.ok("Interrupt", w.p.Interrupt(w.Context(), "other"))
	w.ends("other") // it did not catch it
	w.is("Interrupt of a session that has ended", w.p.Interrupt(w.Context(), "other"), fault.NotRunning)
}

// foundAgain is a keeper that is restarted in between.
func foundAgain(w *world) {
	w.start("runs", "echo")
	w.start("ends", "exit", "7")
	w.ends("ends")
	w.ok("SetMeta", w.p.SetMeta(w.Context(), "runs", "k", "v"))
	again := w.opened(w.h.Reopen(w.T, w.p))
	if !w.running(again, "runs") || w.running(again, "ends") {
		w.Error("the reopened provider does not know which sessions run")
	}
	w.lists("by the reopened provider", again, "", "runs")
	got, err := again.GetMeta(w.Context(), "runs", "k")
	w.ok("GetMeta", err)
	w.equal("metadata after reopening", got, "v")
	w.equal("exit code after reopening", w.exited(again, "ends").Code, 7)
	if !w.lacks(Nudge) && !w.lacks(Peek) {
		w.ok("Nudge", again.Nudge(w.Context(), "runs", "hello"))
		w.sees(again, "runs", "got <hello>")
	}
	c, _ := w.config("idle")
	w.is("Start of what another process started", again.Start(w.Context(), "runs", c), fault.Busy)
	w.ok("Stop", again.Stop(w.Context(), "runs"))
	w.equal("to the first provider what the second stopped runs", w.running(w.p, "runs"), false)
}
