package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
)

// The parts of a dashboard's screen that differ from run to run.
var (
	masks = []struct {
		find *regexp.Regexp
		with string
	}{
		{regexp.MustCompile(` +((?:asking|failed|done|busy|ready) )?\d+[smhd] │`), " ${1}AGE │"},
		{regexp.MustCompile(`past \d+:\d\d:\d\d\.\d`), "past TIME"},
		{regexp.MustCompile(`, [0-9.]+[a-z]*…? +`), ", TOOK "},
		{regexp.MustCompile(`(?m)[ ]+$`), ""},
	}
	trackRow = 22 // of 24, counted from 1; above it stands the activity
)

// stillScreen is the screen without what time changes: ages, and the rows of
// the timeline.
func stillScreen(text string) string {
	lines := strings.Split(text, "\n")
	for len(lines) < 24 {
		lines = append(lines, "")
	}
	lines[trackRow-1], lines[trackRow] = "ACTIVITY", "TRACK"
	text = strings.Join(lines, "\n") + "\n"
	for _, m := range masks {
		text = m.find.ReplaceAllString(text, m.with)
	}
	return text
}

// golden compares a screen that stands still with a file.
func (p *person) golden(name string) {
	p.t.Helper()
	path := filepath.Join("testdata", "dashboard", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(p.settled()), 0o600); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.sees("golden "+name+":\n"+string(want), func(text string) bool { return stillScreen(text) == string(want) })
}

// settled is a screen that has not changed for a second: for new golden files
// only, which are looked at.
func (p *person) settled() string {
	text := stillScreen(p.text())
	for since := time.Now(); time.Since(since) < time.Second; time.Sleep(10 * time.Millisecond) {
		if now := stillScreen(p.text()); now != text {
			text, since = now, time.Now()
		}
	}
	return text
}

// stage is a Home with sessions whose screens are always the same.
func stage(t *testing.T) *world {
	w := newWorld(t)
	w.do("new", "over", "--cols", "40", "--rows", "10", "sh", "-c", "echo this is over; exit 3")
	w.do("wait", "over", "--exit")
	w.do("new", "paint", "--cols", "100", "--rows", "30", "sh", "-c",
		`stty -echo; printf 'plain \033[1;31mred\033[0m \033[48;2;0;80;0mgreen ground\033[0m \033[4:3mcurly\033[0m 日本語 end\r\n`+
			`a line that is wider than the view: ....................................................|\r\n'; exec cat`)
	w.do("wait", "paint", "--ready")
	w.do("new", "shell", "--cols", "60", "--rows", "12", "--label", "team=blue", "bash", "--norc")
	w.do("run", "shell", "echo first")
	w.do("mark", "shell", "half way")
	w.do("run", "shell", "sleep 0.2; false")
	w.do("run", "shell", "sleep 0.2; echo last")
	return w
}

func TestDashboardShowsAndScrubs(t *testing.T) {
	w := stage(t)
	p := w.sit(80, 24, w.den, "dashboard")
	p.seesText("━ sleep 0.2; echo last · exit 0") // the timeline is there, too
	p.golden("live")
	p.seesText("◆")
	p.types("\x1b[D") // left: the moment before
	p.seesText("past ")
	p.types("\x1b[C\x1b[C\x1b[C") // right, and behind the end: live
	p.seesText("      live ")
	p.types("[")
	p.seesText("━ sleep 0.2; echo last · runs")
	p.types("[")
	p.golden("past") // the end of the cell before: what the agent saw then
	p.types("[[")
	p.seesText("◆ half way")
	p.types("\x1b[H")
	p.sees("an empty screen", func(text string) bool { return !strings.Contains(text, "echo first") })
	p.types("\x1b")
	p.seesText("      live ")
	p.golden("live")

	p.types("\x1b[B") // down
	p.golden("paint")
	p.types("L")
	p.seesText("9-63/100")
	p.golden("panned")
	p.types("0z")
	p.golden("small")
	p.types("z\r")
	p.golden("wide")
	p.types("\r?")
	p.golden("help")
	p.types("x/blue")
	p.golden("filter")
	p.types("\x1b")
	p.sees("no filter", func(text string) bool { return !strings.Contains(text, "filter: blue") })
	p.types("a")
	p.seesText("exit 3")
	p.types("\x1b[B\x1b[B\x1b[B")
	p.golden("over")
	w.do("new", "later", "cat")
	p.seesText("● later")
	w.do("kill", "later")
	p.seesText("○ later")
}

// TestDashboardKeepsColours looks at the cells of the person's terminal.
func TestDashboardKeepsColours(t *testing.T) {
	w := stage(t)
	w.env = append(w.env, "COLORTERM=truecolor")
	p := w.sit(80, 24, w.den, "dashboard", "paint")
	p.seesText("green ground")
	p.mu.Lock()
	defer p.mu.Unlock()
	for text, want := range map[string]vt.Style{
		"plain": {},
		"red":   {FG: vt.Indexed(1), Attrs: vt.Bold},
		"green": {BG: vt.TrueColor(vt.RGB{G: 80})},
		"curly": {Underline: vt.UnderlineCurly},
	} {
		if got, ok := styleAt(p.term, text); !ok || got != want {
			t.Errorf("%q is shown as %+v, want %+v", text, got, want)
		}
	}
}

// styleAt is how the first cell of a text looks.
func styleAt(term *vt.Terminal, text string) (vt.Style, bool) {
	_, rows := term.Size()
	for y := range rows {
		row := term.Row(y)
		line := ""
		for x := range row.Len() {
			if c := row.Cell(x); c.Text == "" {
				line += " "
			} else {
				line += c.Text
			}
		}
		if i := strings.Index(line, " "+text+" "); i >= 0 {
			return row.Cell(len([]rune(line[:i])) + 1).Style, true
		}
		if i := strings.Index(line, "│"+text+" "); i >= 0 {
			return row.Cell(len([]rune(line[:i])) + 1).Style, true
		}
	}
	return vt.Style{}, false
}

// TestDashboardUnderFlood has a session beside that prints without end. The
// keys go on working, nothing is cleared and painted anew, and at the end the
// terminal is as it was.
func TestDashboardUnderFlood(t *testing.T) {
	t.Parallel()
	w := stage(t)
	w.do("new", "flood", "--log-limit", "8MiB", "sh", "-c", "i=0; while :; do i=$((i+1)); echo line $i of a flood; done")
	p := w.sit(80, 24, "sh", "-c", "stty -a >"+w.home.Path+"/before; "+w.den+" dashboard; echo left with $?; stty -a >"+w.home.Path+"/after; read x")
	number := regexp.MustCompile(`line (\d+) of a flood`)
	last := func(text string) int {
		n := 0
		for _, m := range number.FindAllStringSubmatch(text, -1) {
			n, _ = strconv.Atoi(m[1])
		}
		return n
	}
	p.sees("the flood", func(text string) bool { return last(text) > 0 })
	cleared := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Count(string(p.raw), "\x1b[2J") + strings.Count(string(p.raw), "\x1b[J")
	}
	before := cleared()
	for range 20 {
		was := last(p.text())
		p.sees("the flood going on", func(text string) bool { return last(text) > was })
	}
	if n := cleared() - before; n > 0 {
		t.Errorf("the screen was cleared %d times under flood", n)
	}
	p.types("\x1b[D\x1b[D\x1b[D")
	p.seesText("past ")
	stands := p.text()
	p.types("\x1b[B")
	p.seesText("echo last")
	p.types("\x1b[A")
	p.sees("the flood again", func(text string) bool { return last(text) > last(stands) })
	p.types("q")
	p.seesText("left with 0")
	p.mu.Lock()
	modes, cursor := p.term.Modes(), p.term.Cursor()
	p.mu.Unlock()
	if modes.AltScreen || modes.Mouse != vt.MouseNone || modes.BracketedPaste || modes.KittyFlags != 0 || !cursor.Visible {
		t.Errorf("the terminal is left with %+v, cursor %+v", modes, cursor)
	}
	sameFile(t, filepath.Join(w.home.Path, "before"), filepath.Join(w.home.Path, "after"))
}

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	var text [2]string
	for i, path := range []string{a, b} {
		// The shell writes it before it reads on.
		for begun := time.Now(); text[i] == "" && time.Since(begun) < 2*time.Minute; time.Sleep(time.Millisecond) {
			raw, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			text[i] = string(raw)
		}
	}
	if text[0] != text[1] {
		t.Errorf("the terminal was\n%s\nand is\n%s", text[0], text[1])
	}
}

// TestDashboardTouchesNothing looks at sessions whose hosts stand still: they
// could answer nothing.
func TestDashboardTouchesNothing(t *testing.T) {
	w := stage(t)
	w.awaitNoted("shell")
	before := w.ask("status", "shell")
	pid := int(before["host_pid"].(float64))
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p := w.sit(100, 30, w.den, "dashboard", "shell")
	p.seesText("echo last")
	p.resize(70, 20)
	p.sees("a narrower screen", func(text string) bool {
		return strings.HasPrefix(text, " den dashboard") && strings.Contains(text, "echo last") && strings.Contains(text, "\n                        │")
	})
	p.types("\x1b[D")
	p.seesText("past ")
	p.types("not for the session\x1b[200~nor this\x1b[201~\r")
	p.types("\x1b")
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	after := w.ask("status", "shell")
	for _, key := range []string{"screen_hash", "cols", "rows"} {
		if before[key] != after[key] {
			t.Errorf("%s was %v and is %v", key, before[key], after[key])
		}
	}
	d, err := w.home.Find("shell")
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.Open(d.Log())
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range log.Events(uint64(before["seq"].(float64))) {
		if err != nil || ev.Code != eventlog.Note { // the host notes by itself what its program does
			t.Errorf("the log has %+v, %v", ev, err)
		}
	}
}

// awaitNoted waits until a session's host has noted that its program waits:
// until something happens it notes nothing more.
func (w *world) awaitNoted(session string) {
	w.t.Helper()
	for {
		for _, s := range w.ask("ls")["sessions"].([]any) {
			s := s.(map[string]any)
			if a, _ := s["attention"].(map[string]any); s["session"] == session && a["state"] != "busy" {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestDashboardEndsBySignal(t *testing.T) {
	w := stage(t)
	p := w.sit(80, 24, w.den, "dashboard")
	p.seesText("echo last")
	if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.sees("the main screen", func(string) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.term.Modes().AltScreen && p.term.Cursor().Visible
	})
}

func TestDashboardWithoutATerminal(t *testing.T) {
	w := stage(t)
	_, stderr, code := w.try("dashboard")
	if code != 2 || !strings.Contains(stderr, "not a terminal") || !strings.Contains(stderr, "den dashboard -j") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	names := func(args ...string) (found []string) {
		for _, h := range w.ask(args...)["homes"].([]any) {
			for _, s := range h.(map[string]any)["sessions"].([]any) {
				found = append(found, s.(map[string]any)["session"].(string)+" "+s.(map[string]any)["status"].(string))
			}
		}
		return found
	}
	if got := strings.Join(names("dashboard"), ", "); got != "shell running, paint running" {
		t.Errorf("active: %s", got)
	}
	if got := strings.Join(names("dashboard", "--all"), ", "); got != "shell running, paint running, over exited" {
		t.Errorf("all: %s", got)
	}
	if _, stderr, code := w.try("dashboard", "nobody"); code != 3 {
		t.Errorf("a session that is not there: exit %d: %s", code, stderr)
	}
}
