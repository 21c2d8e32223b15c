package tui

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func code(n int) *int { return &n }

// sample is a listing of every kind of session in two Homes.
func sample() *dashboard.Listing {
	one := func(name string, status home.Status, exit *int) dashboard.Session {
		id := "id-" + name
		return dashboard.Session{
			ID: id, Name: name, Status: status, ExitCode: exit, Command: []string{"run", name}, Created: noon.Add(-90 * time.Minute),
			Dir: home.Dir{ID: id, Path: "/nowhere/" + id},
		}
	}
	return &dashboard.Listing{Homes: []dashboard.Home{
		{Path: "/a/home", Own: true, Active: 2, Sessions: []dashboard.Session{
			one("work", home.Running, nil), one("begins", home.Starting, nil),
			one("fine", home.Exited, code(0)), one("broken", home.Exited, code(2)), one("gone", home.Lost, nil),
		}},
		{Path: "/another/home/" + strings.Repeat("long/", 20), Active: 1, Sessions: []dashboard.Session{one("far\x1b[31m away 日本語 🇩🇪 👩‍👩‍👧 with a long name", home.Running, nil)}},
		{Path: "/unreadable", Problem: "no permission"},
	}}
}

func frame(cols, rows int, output string) *dashboard.Frame {
	t := vt.New(vt.Config{Cols: cols, Rows: rows})
	t.Write([]byte(output))
	s := screen.Capture(t, 0)
	return &dashboard.Frame{Rev: 1, Seq: 9, Elapsed: 10 * time.Second, Screen: &s}
}

func line() *dashboard.Timeline {
	l := &dashboard.Timeline{Start: noon, Last: eventlog.Position{Seq: 9, Elapsed: 10 * time.Second}}
	l.Cells = []dashboard.CellSpan{
		{ID: "1", Code: "make\n👩‍👩‍👧 🇩🇪 ❤️ 👍🏽 e\u0301 all", Status: cell.Done, ExitCode: code(0), Start: eventlog.Position{Seq: 1}, End: eventlog.Position{Seq: 3, Elapsed: 3 * time.Second}, Took: 3 * time.Second},
		{ID: "2", Code: "false", Status: cell.Done, ExitCode: code(1), Start: eventlog.Position{Seq: 4, Elapsed: 4 * time.Second}, End: eventlog.Position{Seq: 5, Elapsed: 5 * time.Second}, Took: time.Second},
		{ID: "3", Code: "read x", Status: cell.Running, WaitingFor: "input", Start: eventlog.Position{Seq: 8, Elapsed: 8 * time.Second}, Took: 2 * time.Second},
	}
	l.Marks = []dashboard.MarkAt{{Position: eventlog.Position{Seq: 6, Elapsed: 6 * time.Second}, Label: "here"}}
	l.Activity = dashboard.Activity{Step: time.Second, Bytes: []int64{1, 0, 1000, 0, 50}}
	return l
}

func newSample(width, height int) *ui {
	u := newUI(Options{Now: func() time.Time { return noon }}, newPump(nil))
	u.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return u
}

// Of one Home at a time only its sessions are shown, and H picks another.
func TestOneHome(t *testing.T) {
	l := sample()
	other := l.Homes[1].Path
	u := newUI(Options{Now: func() time.Time { return noon }, OneHome: "/a/home"}, newPump(nil))
	u.Update(tea.WindowSizeMsg{Width: 100, Height: 24})
	u.Update(listMsg{l})
	shows := func(want, not string) {
		t.Helper()
		if text := ansi.Strip(u.draw()); !strings.Contains(text, want) || strings.Contains(text, not) {
			t.Errorf("want %q and not %q in:\n%s", want, not, text)
		}
	}
	shows("work", "far")
	press(u, "H")
	shows("› /a/home", "/unreadable")
	press(u, "down")
	shows("› /another/home", "› /a/home")
	press(u, "enter")
	shows("far", "work")
	if u.homes.shown != other {
		t.Errorf("shown is %q", u.homes.shown)
	}
	u.Update(listMsg{l}) // it stays
	shows("far", "work")
	press(u, "H", "a")
	shows("/unreadable", "no such")
	press(u, "esc")
	shows("far", "work")
}

func press(u *ui, keys ...string) {
	special := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "home": tea.KeyHome, "backspace": tea.KeyBackspace}
	for _, k := range keys {
		if r, ok := special[k]; ok {
			u.Update(tea.KeyPressMsg{Code: r})
			continue
		}
		for _, r := range k {
			u.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// checkLines: whatever is shown fills the terminal exactly, or lines would
// wrap and shift all below.
func checkLines(t *testing.T, u *ui, what string) {
	t.Helper()
	lines := strings.Split(u.draw(), "\n")
	if len(lines) != u.height && u.height >= minHeight && u.width >= minWidth {
		t.Fatalf("%s at %dx%d: %d lines", what, u.width, u.height, len(lines))
	}
	for i, l := range lines {
		if wide, wc := ansi.StringWidth(l), ansi.StringWidthWc(l); wide != u.width || wc != u.width {
			t.Fatalf("%s at %dx%d: line %d is %d or %d columns wide: %q", what, u.width, u.height, i, wide, wc, l)
		}
	}
}

// TestLinesFillTheTerminal goes through random sizes, screens and keys.
func TestLinesFillTheTerminal(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	pieces := []string{
		"plain text ", "\r\n", "\x1b[31mred\x1b[0m", "日本語", "👩‍👩‍👧", "🇩🇪", "e\u0301", "\x1b[7m inverse ", "\x1b[44m  \x1b[0m", "\x1b[H", "\x1b[?25l", "\x1b[?25h",
		"\x1b[?1049h", "\x1b[?1049l", "\x1b[8mhidden\x1b[m", "❤️", "☺", "\u200b", "ﷺ", "\t", "├──┤", "\x1b[4:3mcurly\x1b[m", "\ue0b0",
	}
	keys := []string{"up", "down", "left", "right", "a", "z", "0", "H", "J", "K", "L", "enter", "?", "[", "]", ",", ".", "home", "G", "/", "w", "t", "backspace", "esc"}
	for range 100 {
		u := newSample(1+r.IntN(150), 1+r.IntN(50))
		checkLines(t, u, "nothing")
		u.Update(listMsg{sample()})
		checkLines(t, u, "a list")
		if r.IntN(2) == 0 {
			u.Update(agentsMsg{workspace: crew()})
			checkLines(t, u, "agents")
		}
		if r.IntN(2) == 0 {
			u.Update(nightsMsg{all: sleepy(r.IntN(6), r.IntN(30))})
			checkLines(t, u, "nights")
		}
		var out strings.Builder
		for range r.IntN(200) {
			out.WriteString(pieces[r.IntN(len(pieces))])
		}
		u.Update(frameMsg{id: u.chosen, frame: frame(1+r.IntN(160), 1+r.IntN(60), out.String())})
		u.Update(lineMsg{id: u.chosen, line: line()})
		for range 12 {
			k := keys[r.IntN(len(keys))]
			press(u, k)
			if u.past != nil {
				u.Update(pastMsg{visit: u.past.number, moved: true, frame: frame(1+r.IntN(160), 1+r.IntN(60), out.String())})
			}
			if u.live == nil && u.chosen != "" {
				u.Update(frameMsg{id: u.chosen, frame: frame(80, 24, out.String())})
			}
			checkLines(t, u, "after "+k)
		}
	}
}

func TestListFiltersAndSelects(t *testing.T) {
	u := newSample(80, 24)
	u.Update(listMsg{sample()})
	if u.chosen != "id-work" || len(u.rows) != 6 { // two Homes with names, one that cannot be read
		t.Fatalf("chosen %q of %d rows", u.chosen, len(u.rows))
	}
	press(u, "a")
	press(u, "down", "down", "down")
	if u.chosen != "id-broken" {
		t.Errorf("chosen %q", u.chosen)
	}
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "✗ broken") || !strings.Contains(text, "exit 2") || !strings.Contains(text, "? gone") || !strings.Contains(text, "far [31m away") {
		t.Errorf("shown:\n%s", text)
	}
	press(u, "a") // what is over goes; something near is chosen
	if u.session == nil || !u.session.Status.Active() {
		t.Errorf("chosen %+v", u.session)
	}
	press(u, "/", "gone")
	if u.session != nil || !strings.Contains(ansi.Strip(u.draw()), "/unreadable") {
		t.Errorf("chosen %+v", u.session)
	}
	press(u, "enter", "a")
	if u.chosen != "id-gone" {
		t.Errorf("chosen %q", u.chosen)
	}
	press(u, "esc")
	if u.filter != "" || u.chosen != "id-gone" {
		t.Errorf("filter %q, chosen %q", u.filter, u.chosen)
	}
}

func TestTravel(t *testing.T) {
	u := newSample(80, 24)
	press(u, "left", "[", "home") // nothing to travel in
	u.Update(listMsg{sample()})
	u.Update(frameMsg{id: u.chosen, frame: frame(80, 24, "now")})
	u.Update(lineMsg{id: u.chosen, line: line()})
	press(u, "right", "]", ".") // nothing behind the present
	if u.past != nil {
		t.Fatal("in the past")
	}
	take := func() scrub {
		t.Helper()
		select {
		case m := <-u.pump.past:
			return m
		default:
			t.Fatal("no move was asked for")
			return scrub{}
		}
	}
	press(u, "[")
	if m := take(); m.kind != bySeq || m.seq != 8 {
		t.Errorf("move %+v", m)
	}
	press(u, "[", "[")
	take()
	if m := take(); m.seq != 5 {
		t.Errorf("move %+v", m)
	}
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "━ false · exit 1, 1s") || !strings.Contains(text, "past ") {
		t.Errorf("shown:\n%s", text)
	}
	press(u, "]")
	take()
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "◆ here") {
		t.Errorf("shown:\n%s", text)
	}
	press(u, ",")
	if m := take(); m.kind != byTime || m.time >= 6*time.Second || m.time < 5*time.Second {
		t.Errorf("move %+v", m)
	}
	press(u, "right")
	if m := take(); m.kind != byStep || m.step != 1 {
		t.Errorf("move %+v", m)
	}
	u.Update(pastMsg{visit: u.past.number - 1, frame: frame(80, 24, "of another visit")})
	if u.past.frame != nil {
		t.Error("an answer for a visit that is over was taken")
	}
	u.Update(pastMsg{visit: u.past.number, frame: frame(80, 24, "end"), moved: false})
	if u.past != nil {
		t.Error("still in the past behind its end")
	}
	press(u, "home")
	if m := take(); m.kind != byTime || m.time != 0 {
		t.Errorf("move %+v", m)
	}
	u.Update(pastMsg{visit: u.past.number, err: io.ErrUnexpectedEOF})
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "unexpected EOF") {
		t.Errorf("shown:\n%s", text)
	}
	press(u, "esc", "down")
	if u.past != nil || u.live != nil || u.chosen != "id-begins" {
		t.Errorf("past %v, chosen %q", u.past, u.chosen)
	}
}

func TestSmallKeepsShapesAndColours(t *testing.T) {
	f := frame(80, 24, "\x1b[?25l\x1b[41m"+strings.Repeat(" ", 40)+"\x1b[0m\x1b[13;1H\x1b[48;2;0;0;255m"+strings.Repeat(" ", 80))
	lines := drawSmall(f.Screen, 20, 6) // a quarter
	if len(lines) != 6 {
		t.Fatalf("%d lines", len(lines))
	}
	if got := ansi.Strip(lines[0]); strings.TrimRight(got, " ") != strings.Repeat("▀", 10) {
		t.Errorf("the upper half of the first line: %q", got)
	}
	if got := ansi.Strip(lines[3]); strings.TrimRight(got, " ") != strings.Repeat("▀", 20) || !strings.Contains(lines[3], "38;2;0;0;") && !strings.Contains(lines[3], "38;2;") {
		t.Errorf("the blue bar: %q", lines[3])
	}
	if got := ansi.Strip(strings.Join(lines[4:], "")); strings.TrimSpace(got) != "" {
		t.Errorf("nothing below: %q", got)
	}
}

func TestLookFollowsTheCursorUntilItIsMoved(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "row %d\r\n", i)
	}
	s := frame(100, 40, b.String()+strings.Repeat("x", 90)).Screen
	l := viewport{follow: true}
	l.place(s, 50, 10)
	if l.top != 21 || l.left < 41 || l.left > 50 {
		t.Errorf("the view is at %d,%d", l.top, l.left)
	}
	l.key("H")
	l.key("K")
	before := l
	l.place(s, 50, 10)
	if l != before || l.follow {
		t.Errorf("the view went from %+v to %+v", before, l)
	}
	for range 50 {
		l.key("L")
		l.key("J")
		l.place(s, 50, 10)
	}
	if l.top != 30 || l.left != 50 {
		t.Errorf("the view is outside: %+v", l)
	}
	full := frame(100, 40, "\x1b[?1049h\x1b[?25l\x1b[40;1Hbottom").Screen
	l.reset()
	l.place(full, 50, 10)
	if l.top != 0 {
		t.Errorf("a full-screen program is shown from row %d", l.top)
	}
}

func BenchmarkDraw(b *testing.B) {
	row := strings.Repeat("\x1b[32mok\x1b[0m some words \x1b[38;5;244mand more\x1b[0m ", 5) + "\r\n"
	for name, small := range map[string]bool{"text": false, "small": true} {
		b.Run(name, func(b *testing.B) {
			u := newSample(160, 50)
			u.Update(listMsg{sample()})
			u.Update(frameMsg{id: u.chosen, frame: frame(200, 60, strings.Repeat(row, 60))})
			u.Update(lineMsg{id: u.chosen, line: line()})
			u.viewport.small = small
			for b.Loop() {
				u.draw()
			}
		})
	}
}
