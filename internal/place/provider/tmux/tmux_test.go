package tmux_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/place/provider/tmux"
	"den/internal/testkit/need"
	"den/internal/testkit/providertest"
)

func TestProvider(t *testing.T) {
	needTmux(t)
	providertest.Run(t, providertest.Harness{
		New:    func(t *testing.T) provider.Provider { return open(t, newSocket(t), "city") },
		Reopen: func(t *testing.T, p provider.Provider) provider.Provider { return open(t, socketOf(t, p), "city") },
		Owner2: func(t *testing.T, p provider.Provider) provider.Provider { return open(t, socketOf(t, p), "town") },
		Break:  silence,
		Impatient: func(t *testing.T, p provider.Provider) provider.Provider {
			return openWith(t, tmux.Options{Socket: socketOf(t, p), Owner: "city", Patience: time.Second})
		},
		Enter:  "\r",
		Detach: "\x02d",
	})
}

func needTmux(t testing.TB) {
	t.Helper()
	need.Program(t, "tmux")
}

// place is a provider that remembers where it is.
type place struct {
	*tmux.Provider
	socket string
}

func socketOf(t testing.TB, p provider.Provider) string {
	t.Helper()
	return p.(place).socket
}

// newSocket is the path of a server of the test's own, which is killed at the
// end.
func newSocket(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "den-tmux-") // a test's own is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	t.Cleanup(func() {
		raw(t, socket, "kill-server") // Best effort: there may be none.
		os.RemoveAll(dir)             // Best effort.
	})
	return socket
}

func open(t testing.TB, socket, owner string) place {
	t.Helper()
	return openWith(t, tmux.Options{Socket: socket, Owner: owner, Patience: time.Minute, Grace: 300 * time.Millisecond})
}

func openWith(t testing.TB, o tmux.Options) place {
	t.Helper()
	p, err := tmux.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return place{p, o.Socket}
}

// raw runs tmux as a person would, and returns what it printed.
func raw(t testing.TB, socket string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-f", os.DevNull, "-S", socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TERM=xterm"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
