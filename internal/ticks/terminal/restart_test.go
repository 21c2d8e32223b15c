package terminal_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/session"
	"den/internal/ticks/terminal"
)

// crash ends a tick without closing anything, and wipes what each tick wipes.
func (a *agent) crash() {
	a.tb.Helper()
	if err := a.Detach(); err != nil {
		a.tb.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(a.config.Data, "tmp")); err != nil {
		a.tb.Fatal(err)
	}
	a.config.Tick++
	set, err := terminal.New(a.config)
	if err != nil {
		a.tb.Fatal(err)
	}
	a.Set = set
}

// end ends the last tick of an agent that crashed.
func (a *agent) end() {
	if err := a.Detach(); err != nil {
		a.tb.Error(err)
	}
}

// What an earlier tick left is closed, archived under its tick, and told of.
func TestLeftTerminalsAreClosed(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.openReady("cat")
	a.enter(n, "cat", "left behind")
	a.look(n)
	a.crash()
	defer a.end()
	l := a.login()
	if len(l.Left) != 2 || l.Left[1].Number != n || l.Left[1].Became != terminal.LeftClosed || l.Left[1].Tick != 1 {
		t.Fatalf("%+v", l.Left)
	}
	text := l.Text()
	if !strings.Contains(text, "Terminal 1 (cat), left by tick 1, still ran and was closed. Archived in system/logs/sessions/tty_1-tick-001.") {
		t.Error(text)
	}
	if got := a.read("system/logs/sessions/tty_1-tick-001/scrollback"); !strings.Contains(got, "left behind\n") {
		t.Errorf("archived: %q", got)
	}
	if len(l.Reports) != 1 || lines(l.Reports[0]) != "$" || l.Free != 19 {
		t.Errorf("%+v", l)
	}
	a.enter(0, "bash", "true")
}

// A terminal whose host died is told of as lost, and what it printed is
// archived.
func TestLostTerminals(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.open("echo last words; exec cat")
	a.untilScreen(n, "last words\n")
	m, err := a.sessionOf(n).Load()
	if err != nil {
		t.Fatal(err)
	}
	s := session.In(a.sessionOf(n), session.Options{})
	a.crash()
	defer a.end()
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := a.login()
	if len(l.Left) != 2 || l.Left[1].Became != terminal.LeftLost || !strings.Contains(l.Text(), "Terminal 1 (echo last words; exec cat), left by tick 1, was lost") {
		t.Fatalf("%+v", l.Left)
	}
	if got := a.read(l.Left[1].Archive + "/scrollback"); !strings.Contains(got, "last words\n") {
		t.Errorf("archived: %q", got)
	}
}

// A host that dies while the agent works is told of by wait.
func TestHostDies(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.open("echo last words; exec cat")
	a.untilScreen(n, "last words\n")
	m, err := a.sessionOf(n).Load()
	if err != nil {
		t.Fatal(err)
	}
	a.wait(terminal.WaitArgs{Timeout: seconds(0)}) // all that open showed is told
	waiting := a.waits(terminal.WaitArgs{Timeout: seconds(60)})
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w := <-waiting
	if r := a.reportOf(w, n); r.State != terminal.StateLost || r.Exit == nil || !strings.Contains(r.Text(), "how it ended is not known") {
		t.Errorf("%s", w.Text())
	}
	if n != a.open("true") {
		t.Error("its number is not free")
	}
}

// What ended between two ticks has its exit code.
func TestTerminalsThatEndedBetweenTicks(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	pipe := fifo(t)
	n := a.open("read x < " + pipe + "; exit 5")
	s := session.In(a.sessionOf(n), session.Options{})
	a.crash()
	defer a.end()
	send(t, pipe, "\n")
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := a.login()
	if len(l.Left) != 2 || l.Left[1].Became != terminal.LeftExited || l.Left[1].Exit.Code == nil || *l.Left[1].Exit.Code != 5 || !strings.Contains(l.Text(), "had ended: process exited (code 5)") {
		t.Errorf("%s", l.Text())
	}
}

// A session that no list has, because its tick was killed before it wrote one,
// is found by its name.
func TestUnlistedTerminals(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.open("cat")
	a.crash()
	defer a.end()
	if err := os.Remove(filepath.Join(a.config.State, "registry.json")); err != nil {
		t.Fatal(err)
	}
	l := a.login()
	if len(l.Left) != 2 || l.Left[0].Became != terminal.LeftClosed || l.Left[1].Became != terminal.LeftClosed {
		t.Errorf("%+v", l.Left)
	}
	if fault := l.Failed; len(fault) > 0 || len(l.Reports) != 1 {
		t.Errorf("%+v", l)
	}
}

// A kernel that ends a tick whose process was killed closes what it left, and
// the next login tells, once.
func TestCloseLeft(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.open("cat")
	a.crash()
	defer a.end()
	left, err := a.CloseLeft(t.Context())
	if err != nil || len(left) != 2 || left[0].Became != terminal.LeftClosed || left[1].Became != terminal.LeftClosed || a.LoggedIn() {
		t.Errorf("%+v, %v", left, err)
	}
	if all, err := a.home.All(); err != nil || len(all) != 0 {
		t.Errorf("sessions that are left: %v, %v", all, err)
	}
	a.end()
	a.config.Tick++
	a.next()
	l := a.login()
	if len(l.Left) != 2 || len(l.Reports) != 1 || len(l.Failed) != 0 {
		t.Errorf("%+v", l)
	}
	if text := l.Text(); !strings.Contains(text, "Terminal 1 (cat), left by tick 1, still ran and was closed. Archived in system/logs/sessions/tty_1-tick-001.") {
		t.Error(text)
	}
	if l := a.login(); len(l.Left) != 0 {
		t.Errorf("told again: %+v", l.Left)
	}
	if err := a.CloseAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.end()
	a.config.Tick++
	a.next()
	if l := a.login(); len(l.Left) != 0 {
		t.Errorf("told again: %+v", l.Left)
	}
}

// A tick that was killed is completed where its files still are: each terminal
// has one archive, with all that it printed.
func TestCloseLeftArchivesOnce(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.openReady("cat")
	a.enter(n, "cat", "left behind")
	a.look(n)
	a.enter(n, "cat", "seen by nobody")
	a.untilScreen(n, "seen by nobody\nseen by nobody\n")
	a.end()
	a.next()
	defer a.end()
	if _, err := a.CloseLeft(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(a.config.Data, "system/logs/sessions"))
	if err != nil || len(entries) != 2 || entries[0].Name() != "tty_0-tick-001" || entries[1].Name() != "tty_1-tick-001" {
		t.Errorf("%v, %v", entries, err)
	}
	if got := a.read("system/logs/sessions/tty_1-tick-001/scrollback"); !strings.Contains(got, "left behind\n") || !strings.Contains(got, "seen by nobody\n") {
		t.Errorf("archived: %q", got)
	}
	a.read("system/logs/sessions/tty_1-tick-001/recording.cast")
}

// A terminal whose host died, and of which a killed tick's end was told first,
// is told of as lost.
func TestCloseLeftOfLostTerminals(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.open("echo last words; exec cat")
	a.untilScreen(n, "last words\n")
	m, err := a.sessionOf(n).Load()
	if err != nil {
		t.Fatal(err)
	}
	s := session.In(a.sessionOf(n), session.Options{})
	a.crash()
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CloseLeft(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.end()
	a.next()
	l := a.login()
	if len(l.Left) != 2 || l.Left[1].Became != terminal.LeftLost || !strings.Contains(l.Text(), "Terminal 1 (echo last words; exec cat), left by tick 1, was lost") {
		t.Fatalf("%+v", l.Left)
	}
	if got := a.read(l.Left[1].Archive + "/scrollback"); !strings.Contains(got, "last words\n") {
		t.Errorf("archived: %q", got)
	}
}

// What cannot be read of earlier terminals is kept aside and told, and the
// agent is logged in.
func TestLeftThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"damaged": "{", "newer": `{"v": 2, "left": []}`} {
		a := newAgent(t)
		var warned []error
		a.config.Warn = func(err error) { warned = append(warned, err) }
		a.next()
		path := filepath.Join(a.config.State, "left.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := a.login()
		if len(l.Failed) != 1 || !strings.Contains(l.Failed[0], "left.json.corrupt-") || len(l.Reports) != 1 {
			t.Errorf("%s: %+v", name, l)
		}
		if l := a.login(); len(l.Failed) != 0 || len(warned) != 1 {
			t.Errorf("%s: told again: %q, %v", name, l.Failed, warned)
		}
	}
}
