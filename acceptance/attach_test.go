package acceptance

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/testkit/need"

	"golang.org/x/sys/unix"
)

// person is somebody at a real terminal: a PTY whose screen is emulated.
type person struct {
	t   testing.TB
	tty *pty.PTY
	pid int

	mu   sync.Mutex
	term *vt.Terminal
	raw  []byte
	gone chan struct{} // closed when the terminal hung up
}

// sit starts a command on a terminal of that size.
func (w *world) sit(cols, rows int, argv ...string) *person {
	w.t.Helper()
	tty, err := pty.Open(pty.Size{Cols: cols, Rows: rows})
	if err != nil {
		w.t.Fatal(err)
	}
	p := &person{t: w.t, tty: tty, term: vt.New(vt.Config{Cols: cols, Rows: rows}), gone: make(chan struct{})}
	if p.pid, err = tty.Start(pty.Command{Argv: argv, Env: w.env, Dir: "/"}); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(p.gone)
		buf := make([]byte, 1<<16)
		for {
			n, err := tty.Take(buf)
			p.mu.Lock()
			p.term.Write(buf[:n])
			p.raw = append(p.raw, buf[:n]...)
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		syscall.Kill(-p.pid, syscall.SIGKILL)
		var ws unix.WaitStatus
		unix.Wait4(p.pid, &ws, 0, nil)
		tty.Close()
		<-p.gone
	})
	return p
}

func (p *person) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return screen.Text(p.term)
}

// wrote reports whether the terminal ever got these bytes.
func (p *person) wrote(s string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(string(p.raw), s)
}

func (p *person) types(s string) {
	p.t.Helper()
	if _, err := p.tty.Write([]byte(s)); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until the person's screen is as asked.
func (p *person) sees(what string, ok func(text string) bool) {
	p.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok(p.text()) {
		if time.Now().After(deadline) {
			p.t.Fatalf("the screen never shows %s:\n%s", what, p.text())
		}
		time.Sleep(time.Millisecond)
	}
}

func (p *person) seesText(s string) {
	p.t.Helper()
	p.sees(fmt.Sprintf("%q", s), func(text string) bool { return strings.Contains(text, s) })
}

func (p *person) resize(cols, rows int) {
	p.t.Helper()
	p.mu.Lock()
	p.term.Resize(cols, rows)
	p.mu.Unlock()
	if err := p.tty.Resize(pty.Size{Cols: cols, Rows: rows}); err != nil {
		p.t.Fatal(err)
	}
}

// hasSize waits until the session has the size that those attached asked for.
func (w *world) hasSize(name string, cols, rows int) {
	w.t.Helper()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		s := w.ask("status", name)
		if s["cols"] == float64(cols) && s["rows"] == float64(rows) {
			return
		}
		if time.Since(begun) > 2*time.Minute {
			w.t.Fatalf("the session is %vx%v, want %dx%d", s["cols"], s["rows"], cols, rows)
		}
	}
}

const detach = "\x1c\x1c"

func TestAttachTypeResizeDetach(t *testing.T) {
	w := newWorld(t)
	w.do("new", "s", "bash", "--norc")
	w.do("wait", "s", "--ready")
	w.do("type", "s", "echo be''fore", "--enter")
	w.do("wait", "s", "--text", "before")

	p := w.sit(90, 20, "sh", "-c", "stty -a | head -1; "+w.den+" attach s; echo left; stty -a | grep -c -- -icanon; read x")
	p.seesText("before")
	p.types("echo $COLUMNS columns\r")
	p.seesText("90 columns")
	p.resize(70, 15)
	w.hasSize("s", 70, 15)
	p.types("stty size\r")
	p.seesText("15 70")
	p.types("\x1c") // half of the detach keys goes to the program with what follows
	p.types("echo on\r")
	p.seesText("\non\n")
	p.types(detach)
	p.seesText("[detached from session 's']")
	p.seesText("left\n0") // the terminal is in line mode again
	w.hasSize("s", 120, 40)
	p.sees("the end of the alternate screen", func(string) bool { return p.wrote("\x1b[?1049l") })
	// The session has its own size again and goes on.
	w.do("type", "s", "stty size", "--enter")
	w.do("wait", "s", "--text", "40 120")
}

// A window that changes while 'den attach' comes up has its new size: the change
// falls between the look at the size and what follows it.
func TestAttachSeesEarlyResize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("new", "s", "--cols", "80", "--rows", "24", "cat")
	for i := range 20 {
		p := w.sit(40+i, 10, w.den, "attach", "s")
		p.isRaw()
		p.resize(60+i, 12)
		w.hasSize("s", 60+i, 12)
		p.types(detach)
		<-p.gone
	}
}

// isRaw returns as soon as the terminal's program reads keys. It does not pause
// between two looks.
func (p *person) isRaw() {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		_, lines, err := p.tty.Echo()
		if err != nil || time.Now().After(deadline) {
			p.t.Fatalf("the terminal does not become raw: %v", err)
		}
		if !lines {
			return
		}
	}
}

func TestAttachTwoOfDifferentSizes(t *testing.T) {
	w := newWorld(t)
	w.do("new", "s", "bash", "--norc")
	w.do("wait", "s", "--ready")
	a := w.sit(100, 30, w.den, "attach", "s")
	w.hasSize("s", 100, 30)
	a.types("stty size\r")
	a.seesText("30 100")
	b := w.sit(80, 40, w.den, "attach", "s")
	w.hasSize("s", 80, 30)
	b.types("clear; stty size\r")
	b.seesText("30 80")
	a.seesText("30 80")
	onlooker := w.sit(40, 10, w.den, "attach", "s", "--read-only")
	onlooker.types("not taken\r")
	b.types("clear; echo seen by all\r")
	for _, p := range []*person{a, b, onlooker} {
		p.seesText("seen by all")
	}
	b.types(detach)
	b.seesText("detached")
	w.hasSize("s", 100, 30)
	a.types("clear; stty size\r")
	a.seesText("30 100")
	if strings.Contains(a.text(), "not taken") {
		t.Error("a read-only terminal sent input")
	}
	a.types("exit 4\r")
	a.seesText("program exited with status 4, detached")
	onlooker.seesText("program exited with status 4")
}

func TestAttachRestoresTerminalWhenKilled(t *testing.T) {
	w := newWorld(t)
	w.do("new", "s", "cat")
	q := w.sit(80, 24, w.den, "attach", "s")
	w.do("type", "s", "hello", "--enter")
	q.seesText("hello")
	syscall.Kill(q.pid, syscall.SIGTERM)
	q.sees("the end of the alternate screen", func(string) bool { return q.wrote("\x1b[?1049l") })
}

func TestAttachSurvivesUpgradeAndFlood(t *testing.T) {
	w := newWorld(t)
	w.do("new", "s", "bash", "--norc")
	w.do("wait", "s", "--ready")
	p := w.sit(80, 24, w.den, "attach", "s")
	p.types("seq 1 200000; echo flooded\r")
	p.seesText("200000\nflooded")
	w.do("host", "upgrade", "s")
	p.types("clear; echo still attached\r")
	p.seesText("still attached")
	p.types(detach)
	p.seesText("detached")
}

// Vim and htop through attach show what a fresh emulator of the log shows.
func TestAttachFullScreenPrograms(t *testing.T) {
	for _, program := range []string{"vim", "htop"} {
		need.Program(t, program)
	}
	w := newWorld(t)
	w.do("new", "ed", "vim", "-u", "NONE", "-N")
	p := w.sit(80, 24, w.den, "attach", "ed")
	p.types("iline one\rline two")
	p.seesText("line two")
	p.resize(60, 16)
	w.hasSize("ed", 60, 16)
	p.types("\x1b:set ruler\r")
	p.seesText("2,8")
	p.types(detach)
	p.seesText("detached")
	again := w.sit(80, 24, w.den, "attach", "ed")
	again.seesText("line one\nline two")
	again.types(":q!\r")
	again.seesText("program exited with status 0")

	w.do("new", "top", "htop")
	h := w.sit(100, 30, w.den, "attach", "top")
	h.seesText("Load average")
	h.seesText("F10Quit")
	h.resize(120, 40)
	h.seesText("F10Quit")
	h.types("q")
	h.seesText("program exited with status 0")
}

// A terminal that was never given a size says 0x0; it can attach all the same.
// An agent in a session of den's own is attached to in the same way.
func TestAttachFromTerminalWithoutSize(t *testing.T) {
	w := newWorld(t)
	w.do("new", "echo", "sh", "-c", "echo it-is-here; cat")
	w.sit(80, 24, "sh", "-c", "stty cols 0 rows 0; exec "+w.den+" attach echo").seesText("it-is-here")
}

// tmux attaches to its agents itself.
func TestAttachToTmuxAgentFromTerminalWithoutSize(t *testing.T) {
	need.Program(t, "tmux")
	c := newChaos(t, "tmux", 1)
	c.must("up", "--wait", "-t", "60s")
	c.sit(80, 24, "sh", "-c", "stty cols 0 rows 0; exec "+c.den+" agent attach a0").seesText("ready>")
}
