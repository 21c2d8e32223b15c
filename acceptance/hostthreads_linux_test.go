package acceptance

import (
	"slices"
	"strings"
	"testing"

	"den/internal/process/pty"
)

// A host has memory for one goroutine at a time. Its program, its upgrade and the
// user's own words are not touched by that.
func TestHostBeginsSmall(t *testing.T) {
	w := newWorld(t)
	const small = "GOMAXPROCS=1"
	hasIt := func(pid int) bool { return slices.Contains(strings.Split(string(pty.Environ(pid)), "\x00"), small) }
	w.do("new", "s", "cat")
	d, err := w.home.Find("s")
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !hasIt(m.HostPID) || hasIt(m.PID) {
		t.Errorf("%s is in the environment of the host: %v, of its program: %v", small, hasIt(m.HostPID), hasIt(m.PID))
	}
	w.env = append(w.env, "GOMAXPROCS=3")
	w.do("new", "own", "sh", "-c", "echo [$GOMAXPROCS]; cat")
	w.do("wait", "own", "--text", "[3]")
	w.do("new", "flood", "sh", "-c", "seq 1 200000; echo o'v'er; cat")
	w.do("wait", "flood", "--text", "over")
	w.do("wait", "flood", "--ready")
}
