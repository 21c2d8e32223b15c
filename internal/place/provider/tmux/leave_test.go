package tmux_test

import (
	"testing"

	"den/internal/place/provider"
)

// A server is left when nobody has a session on it, and not before; what is
// started afterwards finds one again.
func TestLeave(t *testing.T) {
	t.Parallel()
	needTmux(t)
	socket := newSocket(t)
	p := open(t, socket, "city")
	start := func() {
		t.Helper()
		if err := p.Start(t.Context(), "s", provider.Config{Argv: []string{"cat"}, WorkDir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	}
	stands := func() bool {
		_, err := raw(t, socket, "-N", "has-session")
		return err == nil
	}
	leave := func() {
		t.Helper()
		if err := p.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	leave() // there is none
	start()
	leave()
	if running, err := p.IsRunning(t.Context(), "s"); err != nil || !running {
		t.Fatalf("a session that runs was left behind: %v, %v", running, err)
	}
	if out, err := raw(t, socket, "new-session", "-d", "-s", "theirs", "cat"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := p.Stop(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	leave()
	if !stands() {
		t.Fatal("somebody else's session was ended")
	}
	if out, err := raw(t, socket, "kill-session", "-t", "=theirs"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	leave()
	if stands() {
		t.Error("the server stays")
	}
	if running, err := p.IsRunning(t.Context(), "s"); err != nil || running {
		t.Errorf("without a server: %v, %v", running, err)
	}
	start()
	if running, err := p.IsRunning(t.Context(), "s"); err != nil || !running {
		t.Errorf("after a new start: %v, %v", running, err)
	}
}
