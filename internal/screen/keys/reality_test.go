package keys_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
	"den/internal/testkit/need"
)

// curses reads keys by terminfo's table and prints their names.
const curses = `
import curses
def main(w):
    w.keypad(True)
    curses.raw()
    print("go", end="\r\n", flush=True)
    while True:
        k = w.getch()
        if k == ord("q"): return
        print("<" + curses.keyname(k).decode() + ">", end="", flush=True)
curses.wrapper(main)`

// What this package sends is what terminfo says the keys of an xterm send.
func TestCursesKnowsTheKeys(t *testing.T) {
	x := run(t, "python3", "-c", curses)
	x.until("go")
	m := vt.Modes{AppCursor: true, AppKeypad: true} // curses turns both on.
	for chord, want := range map[string]string{
		"Up": "KEY_UP", "Down": "KEY_DOWN", "Left": "KEY_LEFT", "Right": "KEY_RIGHT", "Home": "KEY_HOME", "End": "KEY_END",
		"Insert": "KEY_IC", "Delete": "KEY_DC", "PageUp": "KEY_PPAGE", "PageDown": "KEY_NPAGE", "S-Tab": "KEY_BTAB", "Backspace": "KEY_BACKSPACE",
		"F1": "KEY_F(1)", "F4": "KEY_F(4)", "F5": "KEY_F(5)", "F12": "KEY_F(12)", "F13": "KEY_F(13)", "F24": "KEY_F(24)", "F25": "KEY_F(25)", "F35": "KEY_F(35)",
		"S-Left": "KEY_SLEFT", "S-Delete": "KEY_SDC", "C-Right": "kRIT5", "M-Up": "kUP3", "C-c": "^C", "C-Space": "^@", "a": "a", "KPEnter": "KEY_ENTER",
	} {
		x.press(chord, m)
		x.until("<" + want + ">")
		x.out = nil
	}
	x.press("q", m)
}

func TestReadlineKnowsTheKeys(t *testing.T) {
	x := run(t, "bash", "--norc", "-i")
	x.until("$ ", "# ")
	// Move and edit: "echo x-b-c" by way of the middle.
	for _, chord := range []string{"e", "c", "h", "o", "Space", "b", "-", "c", "M-b", "M-b", "x", "-", "C-a", "Delete", "e", "End", "!", "Backspace", "Home", "C-Right", "C-e", "Left*3", "Right*3", "Enter"} {
		x.press(chord, vt.Modes{})
	}
	x.until("\rx-b-c\r\n")
	x.out = nil
	x.write(keys.Paste([]byte("echo one\necho t''wo\x1b[201~\n"), vt.Modes{BracketedPaste: true}))
	x.press("Enter", vt.Modes{})
	x.until("two[201~\r\n")
}

func TestVimKnowsTheKeys(t *testing.T) {
	x := run(t, "vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "-c", "set nomore notimeout ttimeoutlen=50 term=xterm-256color", "-c", `map <F5> :echo "five" . "5"<CR>`, "-c", `map <C-Left> :echo "left" . "5"<CR>`)
	x.until("[No Name]", "0,0-1", "~")
	app := vt.Modes{AppCursor: true, AppKeypad: true}
	x.press("F5", app)
	x.until("five5")
	x.press("C-Left", app)
	x.until("left5")
	for _, chord := range []string{"i", "a", "c", "Left", "b", "Escape"} {
		x.press(chord, app)
	}
	// Vim sends what changed, in any number of pieces: ask it for the line.
	x.press(":", app)
	for _, r := range "echo getline(1) . '!'" {
		x.press(string(r), app)
	}
	x.press("Enter", app)
	x.until("abc!")
}

// screen is a program on a terminal whose output the test reads.
type screen struct {
	t   *testing.T
	p   *pty.PTY
	out []byte
}

func run(t *testing.T, argv ...string) *screen {
	t.Helper()
	need.Program(t, argv[0])
	p, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	pid, err := p.Start(pty.Command{Argv: argv, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + t.TempDir()}})
	if err != nil {
		p.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
	})
	return &screen{t: t, p: p}
}

// until reads until the output has one of the texts.
func (x *screen) until(texts ...string) {
	x.t.Helper()
	x.p.SetReadDeadline(time.Now().Add(2 * time.Minute))
	buf := make([]byte, 4096)
	for {
		for _, s := range texts {
			if strings.Contains(string(x.out), s) {
				return
			}
		}
		n, err := x.p.Take(buf)
		x.out = append(x.out, buf[:n]...)
		if err != nil {
			x.t.Fatalf("waiting for %q: %v; output %q", texts, err, x.out)
		}
	}
}

func (x *screen) press(chord string, m vt.Modes) {
	x.t.Helper()
	b, err := parse(x.t, chord).Encode(m)
	if err != nil {
		x.t.Fatal(err)
	}
	x.write(b)
}

func (x *screen) write(b []byte) {
	x.t.Helper()
	if _, err := x.p.Write(b); err != nil {
		x.t.Fatal(err)
	}
}
