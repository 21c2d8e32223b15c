package session_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/home"
)

// A process that forked twice, cleared its environment and lost its host is
// found by its cgroup. Where there is none it may live on, and whoever kills the
// session is told so.
func TestKillTellsOfPossibleSurvivors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	s, m := start(t, session.Options{}, "sh", "-c", "(setsid env -i sh -c 'echo $$ > "+file+".new; mv "+file+".new "+file+"; exec sleep 1000' <>/dev/null >/dev/null 2>&1 &); while [ ! -e "+file+" ]; do :; done; echo hidden; exec cat")
	waitFor(t, s, "hidden")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	killHost(t, s, m)
	killed, err := s.Kill(t.Context(), time.Second)
	if err != nil || killed.Status != string(home.Destroyed) {
		t.Fatalf("kill: %+v, %v", killed, err)
	}
	words, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // empty of a dead process that nobody reaped
	if alive := err == nil && len(words) > 0; alive && !killed.MayHaveSurvivors {
		t.Errorf("process %d lives on, and nobody is told: %+v", pid, killed)
	}
	if hasCgroup := m.Cgroup != ""; hasCgroup == killed.MayHaveSurvivors {
		t.Errorf("%+v, with the cgroup %q", killed, m.Cgroup)
	}

	// With its host there, it is found everywhere.
	s, _ = start(t, session.Options{}, "cat")
	if killed, err := s.Kill(t.Context(), time.Second); err != nil || killed.MayHaveSurvivors {
		t.Errorf("a session with a host: %+v, %v", killed, err)
	}
}
