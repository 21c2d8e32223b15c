package acceptance

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/session/home"
)

// A host that a signal asks to end, as 'docker stop' does, ends its program and
// closes its record: the session is not lost.
func TestSignalledHost(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		signals []syscall.Signal
		begin   func(w *world) (finish func())
	}{
		"at rest":         {`trap "echo farewell; exit 3" HUP; echo up; while :; do sleep 0.1; done`, []syscall.Signal{syscall.SIGTERM}, nil},
		"by an interrupt": {`trap "echo farewell; exit 3" HUP; echo up; while :; do sleep 0.1; done`, []syscall.Signal{syscall.SIGINT}, nil},
		"under output":    {counting, []syscall.Signal{syscall.SIGTERM}, nil},
		"in a hurry":      {`trap "" HUP TERM; echo up; while :; do sleep 1; done`, []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, nil},
		"with a cell": {"echo up; exec bash --norc", []syscall.Signal{syscall.SIGTERM}, func(w *world) func() {
			cell := make(chan string)
			go func() {
				out, stderr, _ := w.try("run", "s", "sleep 1000")
				cell <- out + stderr
			}()
			w.do("wait", "s", "--text", "sleep 1000")
			return func() {
				if said := <-cell; strings.Contains(said, "lost") {
					w.t.Errorf("the cell's caller was told: %s", said)
				}
			}
		}},
		"with somebody attached": {"echo up; exec cat", []syscall.Signal{syscall.SIGTERM}, func(w *world) func() {
			p := w.sit(80, 24, w.den, "attach", "s")
			p.seesText("up")
			return func() { <-p.gone }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.do("new", "s", "bash", "-c", c.program)
			w.do("wait", "s", "--regex", "up|of the flood")
			finish := func() {}
			if c.begin != nil {
				finish = c.begin(w)
			}
			w.endBySignals("s", c.signals)
			finish()
			if c.begin == nil && len(c.signals) == 1 && strings.Contains(c.program, "farewell") {
				if text := w.do("snapshot", "s"); !strings.Contains(text, "farewell") {
					t.Errorf("the program was not asked: %q", text)
				}
			}
		})
	}
}

// endBySignals sends signals to a session's host, waits for its end and checks
// what it left.
func (w *world) endBySignals(name string, signals []syscall.Signal) {
	t := w.t
	t.Helper()
	d, err := w.home.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	gone, err := d.Gone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, sig := range signals {
		if i > 0 { // two at once are one to the kernel
			w.untilStatus(d, home.Destroying)
		}
		if err := syscall.Kill(m.HostPID, sig); err != nil {
			t.Fatal(err)
		}
	}
	<-gone
	if m, err = d.Load(); err != nil {
		t.Fatal(err)
	}
	if m.Status != home.Destroyed || !strings.HasPrefix(m.EndedBy, "SIG") || m.ExitCode == nil || m.FinalSeq == 0 || m.Ended.IsZero() {
		t.Errorf("%s: its record says %s, ended by %q, %s", name, m.Status, m.EndedBy, m.Ending())
	}
	if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
		t.Errorf("%s: processes %v are left", name, left)
	}
	w.checkLog(d)
}

func (w *world) untilStatus(d home.Dir, status home.Status) {
	w.t.Helper()
	for {
		m, err := d.Load()
		if err != nil {
			w.t.Fatal(err)
		}
		if m.Status == status {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
