package film_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/render/film"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// painter makes the output of programs that show tokens and repaint parts of
// them.
type painter struct {
	r          *rand.Rand
	cols, rows int
	tokens     []string // the same but for their ends
}

func newPainter(seed uint64) *painter {
	p := &painter{r: rand.New(rand.NewPCG(seed, 9)), cols: 50, rows: 7}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[p.r.IntN(len(letters))]
		}
		return string(b)
	}
	head := "ghp_" + random(24)
	for range 3 {
		p.tokens = append(p.tokens, head+random(12))
	}
	return p
}

func (p *painter) at(y, x int) string { return fmt.Sprintf("\x1b[%d;%dH", y+1, x+1) }

// start shows each token whole once, so that it can be known.
func (p *painter) start() []string {
	var out []string
	for _, t := range p.tokens {
		out = append(out, "\x1b[2J\x1b[H$ export T="+t+"\r\n")
	}
	return out
}

// step is what a program writes for one frame.
func (p *painter) step() string {
	t := p.tokens[p.r.IntN(len(p.tokens))]
	y, x := p.r.IntN(p.rows), p.r.IntN(p.cols)
	from := p.r.IntN(len(t))
	to := from + 1 + p.r.IntN(len(t)-from)
	switch p.r.IntN(14) {
	case 0: // whole, perhaps wrapped
		return p.at(y, x) + t
	case 1: // the end alone changes
		return p.at(y, 2) + t + p.at(y, 2+len(t)-6) + t[len(t)-6:]
	case 2: // a part of it, in its place
		return p.at(y, 5+from) + t[from:to]
	case 3: // a part of it, anywhere
		return p.at(y, x) + t[from:to]
	case 4: // highlighted in the middle
		return p.at(y, 1) + t[:from] + "\x1b[7m" + t[from:to] + "\x1b[27;38;2;1;2;3m" + t[to:] + "\x1b[m"
	case 5: // scrolled sideways
		return p.at(y, 0) + "\x1b[K" + t[from:]
	case 6: // cut at the right edge
		return "\x1b[?7l" + p.at(y, p.cols-to) + t + "\x1b[?7h"
	case 7: // inserted and deleted characters
		return p.at(y, x) + "\x1b[3@" + t[from:to] + "\x1b[2P"
	case 8: // lines that scroll
		return p.at(p.rows-1, 0) + "\r\nlog " + t[:to] + "\r\nmore 漢字 \x1b[1;44mok\x1b[m " + t[from:] + "\r\n"
	case 9:
		return "\x1b[?1049h" + p.at(y, 3) + t[from:]
	case 10:
		return "\x1b[?1049l"
	case 11: // a link and a title
		return "\x1b]8;;https://x/?k=" + t[from:] + "\x1b\\here\x1b]8;;\x1b\\\x1b]2;run " + t[:to] + "\x07"
	case 12: // typed
		return t[from : from+1]
	}
	return p.at(y, 0) + "plain text \x1b[32mgreen\x1b[m 👍" + strings.Repeat(".", p.r.IntN(20)) + "\x1b[K"
}

func (p *painter) events(n int) []event {
	var events []event
	at := time.Duration(0)
	add := func(code, data string) {
		events = append(events, event{at, code, data})
		at += 20 * time.Millisecond // more than a frame
	}
	for _, out := range p.start() {
		add(eventlog.Output, out)
	}
	for range n {
		if p.r.IntN(25) == 0 {
			p.cols, p.rows = 30+p.r.IntN(40), 3+p.r.IntN(8)
			add(eventlog.Resize, fmt.Sprintf("%dx%d", p.cols, p.rows))
		}
		add(eventlog.Output, p.step())
	}
	return events
}

// castLine is an event of a cast.
type castLine struct {
	at         time.Duration
	code, data string
}

func castLines(t *testing.T, path string) []castLine {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []castLine
	var clock time.Duration
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
		var ev [3]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		clock += time.Duration(ev[0].(float64)*1e6+0.5) * time.Microsecond
		lines = append(lines, castLine{clock, ev[1].(string), ev[2].(string)})
	}
	return lines
}

func apply(t *vt.Terminal, code, data string) {
	replay.Apply(t, eventlog.Event{Code: code, Data: []byte(data)})
}

// Each frame of a redacted cast is the redacted screen of its time, and no
// longer piece of a token is in its bytes, whatever parts a program repaints.
func TestRedactedCastShowsRedactedScreens(t *testing.T) {
	hide, err := redact.New(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	seeds := 6
	if testing.Short() {
		seeds = 5
	}
	for seed := range uint64(seeds) {
		p := newPainter(seed)
		cols, rows := p.cols, p.rows
		events := p.events(120)
		l := recorded(t, cols, rows, events...)
		knowing, err := film.Learn(t.Context(), l, hide)
		if err != nil {
			t.Fatal(err)
		}
		path, _ := write(t, l, film.Options{Format: film.Cast, Redact: hide})
		source, player := vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: 1000}), vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: 1000})
		lines := castLines(t, path)
		for _, e := range events {
			apply(source, e.code, e.data)
			for len(lines) > 0 && lines[0].at <= e.at {
				noSecret(t, seed, lines[0], p.tokens)
				apply(player, lines[0].code, lines[0].data)
				lines = lines[1:]
			}
			if d := redactedDiff(source, player, knowing); d != "" {
				t.Fatalf("seed %d, after %q at %v: %s", seed, e.data, e.at, d)
			}
		}
		if len(lines) > 0 {
			t.Fatalf("seed %d: %d lines come behind the end", seed, len(lines))
		}
	}
}

// noSecret fails if a line of a cast holds eight characters of a token.
func noSecret(t *testing.T, seed uint64, line castLine, tokens []string) {
	t.Helper()
	for _, token := range tokens {
		for i := 0; i+8 <= len(token); i++ {
			if strings.Contains(line.data, token[i:i+8]) {
				t.Fatalf("seed %d: the cast has %q of %q at %v: %q", seed, token[i:i+8], token, line.at, line.data)
			}
		}
	}
}

// redactedDiff compares a player's screen with the redacted screen of source.
func redactedDiff(source, player *vt.Terminal, r *redact.Redactor) string {
	var page redact.Page
	page.Take(source, 0)
	page.Hide(r)
	cols, rows := source.Size()
	for y := range rows {
		hidden := page.Hidden(y)
		for x := range cols {
			want, have := source.Row(y).Cell(x), player.Row(y).Cell(x)
			if hidden != nil && hidden[x] {
				want.Text, want.Width = "*", 1
			}
			if r.Text(want.Style.Link) != want.Style.Link {
				want.Style.Link, want.Style.LinkID = "", ""
			}
			if want != have {
				return fmt.Sprintf("row %d, column %d is %+v, want %+v", y, x, have, want)
			}
		}
	}
	a, b := source.Cursor(), player.Cursor()
	if a.Row != b.Row || a.Col != b.Col || r.Text(source.Title()) != player.Title() {
		return fmt.Sprintf("cursor %+v, want %+v; title %q, want %q redacted", b, a, player.Title(), source.Title())
	}
	return ""
}

// A token that was on the screen for less than a frame is known all the same.
func TestPartOfATokenThatWasSeenForAMoment(t *testing.T) {
	hide, err := redact.New(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	l := recorded(t, 40, 4, event{0, "o", "\x1b[?1049h\x1b[Hlong line with " + secret[:20] + "\x1b[2;1H" + secret}, event{5 * time.Millisecond, "o", "\x1b[H\x1b[J" + secret[9:] + " end"})
	path, _ := write(t, l, film.Options{Format: film.Cast, Redact: hide})
	for _, line := range castLines(t, path) {
		noSecret(t, 0, line, []string{secret})
	}
}
