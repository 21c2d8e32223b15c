package providertest

import (
	"syscall"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

var exitCases = []testCase{
	{"ExitCodes", exitCodes},
	{"Signals", signals},
}

// exited returns how a session that is not running ended.
func (w *world) exited(p provider.Provider, name string) provider.Exit {
	w.Helper()
	e, err := p.Exit(w.Context(), name)
	w.ok("Exit", err)
	if e == nil {
		w.Fatalf("Exit(%q) = nil for a session that is not running", name)
	}
	return *e
}

func exitCodes(w *world) {
	_, err := w.p.Exit(w.Context(), "never-was")
	w.is("Exit of a session that never was", err, fault.NotFound)
	for _, c := range []struct {
		name, arg string
		code      int
	}{{"zero", "0", 0}, {"three", "3", 3}, {"max", "255", 255}} {
		w.start(c.name, "exit", c.arg)
		w.ends(c.name)
		e := w.exited(w.p, c.name)
		w.equal("exit code", e.Code, c.code)
		w.equal("exit signal", e.Signal, "")
	}
	// Its program may be gone before Start returns.
	w.startConfig(w.p, "at-once", w.command("/bin/false"))
	w.ends("at-once")
	w.equal("exit code of false", w.exited(w.p, "at-once").Code, 1)
	w.start("runs", "idle")
	e, err := w.p.Exit(w.Context(), "runs")
	w.ok("Exit", err)
	if e != nil {
		w.Errorf("Exit of a running session = %+v, want nil", *e)
	}
}

func signals(w *world) {
	for _, c := range []struct {
		name, arg string
		sig       syscall.Signal
	}{{"SIGKILL", "9", syscall.SIGKILL}, {"SIGTERM", "15", syscall.SIGTERM}} {
		w.start(c.name, "die", c.arg)
		w.ends(c.name)
		e := w.exited(w.p, c.name)
		w.equal("exit code", e.Code, 128+int(c.sig))
		w.equal("exit signal", e.Signal, c.name)
	}
}
