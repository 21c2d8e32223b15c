package tmux_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"den/internal/place/provider"
)

// silence makes the server one that takes questions and does not answer.
func silence(t *testing.T, p provider.Provider) (mend func()) {
	t.Helper()
	out, err := raw(t, socketOf(t, p), "display-message", "-p", "#{pid}")
	if err != nil {
		t.Fatalf("ask for the server's process: %v: %s", err, out)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatalf("signal the server: %v", err)
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}
