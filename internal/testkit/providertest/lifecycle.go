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
	if w.running(w.p, "w") {
		w.Error("running before its start")
	}
	w.start("w", "idle")
	if !w.running(w.p, "w") {
		w.Error("not running after Start")
	}
	w.stop("w")
	if w.running(w.p, "w") {
		w.Error("running after Stop")
	}
	if left := w.list(w.p, ""); len(left) > 0 {
		w.Errorf("after Stop these run: %q", left)
	}
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
	got, err := w.p.GetMeta(w.Context(), "w", "k")
	w.ok("GetMeta", err)
	w.equal("metadata of the first session", got, "first")
	w.equal("running sessions", len(w.list(w.p, "")), 1)
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
		if err := w.p.Start(w.Context(), "w", w.command(argv0)); err == nil {
			w.Errorf("Start of %s: no error", argv0)
		}
		if w.running(w.p, "w") {
			w.Errorf("Start of %s: the session runs", argv0)
		}
		if left := w.list(w.p, ""); len(left) > 0 {
			w.Errorf("Start of %s left %q", argv0, left)
		}
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
		if err := w.p.Start(w.Context(), "w", c); err == nil {
			w.Errorf("Start with %s: no error", what)
		}
		if w.running(w.p, "w") {
			w.Errorf("Start with %s: the session runs", what)
		}
	}
}

func startCancelled(w *world) {
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	c, _ := w.config("idle")
	if err := w.p.Start(ctx, "w", c); err == nil {
		w.Error("Start with a cancelled context: no error")
	}
	if left := w.list(w.p, ""); len(left) > 0 {
		w.Errorf("a cancelled Start left %q", left)
	}
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
	if got := w.list(again, ""); !slices.Equal(got, []string{"runs"}) {
		w.Errorf("the reopened provider lists %q", got)
	}
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
	if w.running(w.p, "runs") {
		w.Error("the first provider does not see that the second stopped the session")
	}
}
