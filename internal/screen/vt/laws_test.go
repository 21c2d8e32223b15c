package vt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

func config(cols, rows, scrollback int) vt.Config {
	return vt.Config{Cols: cols, Rows: rows, Scrollback: scrollback, Version: "1.2.3"}
}

// randomSize leans to sizes at which everything is an edge.
func randomSize(r *rand.Rand) (cols, rows int) {
	sizes := [][2]int{{80, 24}, {20, 6}, {10, 4}, {7, 3}, {2, 2}, {1, 1}, {1, 5}, {3, 1}, {33, 10}}
	s := sizes[r.IntN(len(sizes))]
	return s[0], s[1]
}

// randomSteps is writes with resizes between them.
func randomSteps(g generator) []step {
	var steps []step
	if g.r.IntN(3) == 0 {
		steps = append(steps, step{data: []byte(intro)}) // den's own strings count
	} else if g.r.IntN(2) == 0 {
		steps = append(steps, step{data: []byte(clusters)})
	}
	for range 1 + g.r.IntN(8) {
		steps = append(steps, step{data: g.stream(1 + g.r.IntN(40))})
		if g.r.IntN(4) == 0 {
			cols, rows := randomSize(g.r)
			steps = append(steps, step{cols: cols, rows: rows})
		}
	}
	return steps
}

// dumpLaw: after every step, a fresh terminal fed with the dump is equal.
func dumpLaw(cfg vt.Config) func([]step) string {
	return func(steps []step) string {
		term := vt.New(cfg)
		for i, s := range steps {
			term.SetSeq(uint64(i))
			s.do(term)
			if err := term.Check(); err != nil {
				return err.Error()
			}
			if d := dumpDiff(term, cfg); d != "" {
				return d
			}
		}
		return ""
	}
}

func dumpDiff(term *vt.Terminal, cfg vt.Config) string {
	cfg.Cols, cfg.Rows = term.Size()
	dump := term.Dump()
	again := vt.New(cfg)
	again.Write(dump)
	if d := vt.Diff(term, again); d != "" {
		return fmt.Sprintf("%s\ndump is %q", d, dump)
	}
	if d := vt.DiffSeqs(term, again); d != "" {
		return fmt.Sprintf("%s\ndump is %q", d, dump)
	}
	if r, m, n := again.TakeReplies(), again.TakeMarks(), again.TakeNotes(); r != nil || m != nil || n != nil {
		return fmt.Sprintf("dump %q made replies %q, marks %v, notes %v", dump, r, m, n)
	}
	if err := again.Check(); err != nil {
		return "after dump: " + err.Error()
	}
	return ""
}

// splitLaw: how the bytes are cut into writes makes no difference.
func splitLaw(cfg vt.Config, seed uint64) func([]step) string {
	return func(steps []step) string {
		r := rand.New(rand.NewPCG(seed, 2))
		whole, split := vt.New(cfg), vt.New(cfg)
		for _, s := range steps {
			s.do(whole)
			if s.cols > 0 {
				s.do(split)
			}
			for rest := s.data; len(rest) > 0; {
				n := min(1+r.IntN(9), len(rest))
				split.Write(rest[:n])
				rest = rest[n:]
			}
		}
		return pairDiff(whole, split)
	}
}

// continueLaw: a terminal made from a dump goes on like the original.
func continueLaw(cfg vt.Config, seed uint64) func([]step) string {
	return func(steps []step) string {
		term := vt.New(cfg)
		fed := 0
		for i, s := range steps[:len(steps)/2] {
			term.SetSeq(uint64(i))
			s.do(term)
			fed += len(s.data)
		}
		if fed < len(intro) {
			term.Write(make([]byte, len(intro))) // it could still be fed a dump, a copy could not
		}
		now := cfg
		now.Cols, now.Rows = term.Size()
		again := vt.New(now)
		again.Write(term.Dump())
		term.TakeReplies()
		term.TakeMarks()
		term.TakeNotes()
		for i, s := range steps[len(steps)/2:] {
			term.SetSeq(uint64(1000 + i))
			again.SetSeq(uint64(1000 + i))
			s.do(term)
			s.do(again)
			if d := pairDiff(term, again); d != "" {
				return d
			}
		}
		return ""
	}
}

// pairDiff is "" when both terminals are equal and have the same to say.
func pairDiff(a, b *vt.Terminal) string {
	if d := vt.Diff(a, b); d != "" {
		return d
	}
	if d := vt.DiffSeqs(a, b); d != "" {
		return d
	}
	if x, y := a.TakeReplies(), b.TakeReplies(); !bytes.Equal(x, y) {
		return fmt.Sprintf("replies %q and %q", x, y)
	}
	if x, y := a.TakeMarks(), b.TakeMarks(); !slices.Equal(x, y) {
		return fmt.Sprintf("marks %v and %v", x, y)
	}
	if x, y := a.TakeNotes(), b.TakeNotes(); !slices.Equal(x, y) {
		return fmt.Sprintf("notes %v and %v", x, y)
	}
	return ""
}

// slowLaw: what the terminal keeps to be fast makes no difference.
func slowLaw(cfg vt.Config, seed uint64) func([]step) string {
	return func(steps []step) string {
		r := rand.New(rand.NewPCG(seed, 5))
		fast, slow := vt.New(cfg), vt.New(cfg)
		for i, s := range steps {
			fast.SetSeq(uint64(i))
			slow.SetSeq(uint64(i))
			s.do(fast)
			if s.cols > 0 {
				s.do(slow)
			}
			for rest := s.data; len(rest) > 0; {
				n := min(1+r.IntN(30), len(rest))
				slow.SlowDown()
				slow.Write(rest[:n])
				rest = rest[n:]
			}
			if d := pairDiff(fast, slow); d != "" {
				return d
			}
		}
		return ""
	}
}

// textLaw: the canonical text is the rows' texts.
func textLaw(cfg vt.Config) func([]step) string {
	return func(steps []step) string {
		term := vt.New(cfg)
		for _, s := range steps {
			s.do(term)
		}
		_, rows := term.Size()
		var lines []string
		for y := range rows {
			var line []byte
			row := term.Row(y)
			for x := range row.Len() {
				if c := row.Cell(x); c.Text == "" && c.Width > 0 {
					line = append(line, ' ')
				} else {
					line = append(line, c.Text...)
				}
			}
			lines = append(lines, strings.TrimRight(string(line), " "))
		}
		if err := term.Check(); err != nil {
			return err.Error()
		}
		want := strings.TrimRight(strings.Join(lines, "\n"), "\n")
		if got := string(term.AppendText(nil)); got != want {
			return fmt.Sprintf("text %q, rows %q", got, want)
		}
		return ""
	}
}

// resizeLaw: a resize there and back loses no text and moves nothing, where
// the scrollback is long enough and the cursor stands below all text.
func resizeLaw(cfg vt.Config, seed uint64) func([]step) string {
	cfg.Scrollback = 20000
	return func(steps []step) string {
		r := rand.New(rand.NewPCG(seed, 3))
		term := vt.New(cfg)
		for _, s := range steps {
			s.do(term)
		}
		term.Write([]byte("\x18\x1b[!p\x1b[?1049l\x1b[r\x1b[?6l\x1b[9999;1H\r\n"))
		cols, rows := term.Size()
		before, screen, cursor := term.Logical(), string(term.AppendText(nil)), term.Cursor()
		toCols, toRows := randomSize(r)
		term.Resize(toCols, toRows)
		if err := term.Check(); err != nil {
			return err.Error()
		}
		if got := term.Logical(); !slices.Equal(got, before) {
			return fmt.Sprintf("at %dx%d: text %q, was %q", toCols, toRows, got, before)
		}
		term.Resize(cols, rows)
		if got := term.Logical(); !slices.Equal(got, before) {
			return fmt.Sprintf("over %dx%d and back: text %q, was %q", toCols, toRows, got, before)
		}
		if got := string(term.AppendText(nil)); got != screen {
			return fmt.Sprintf("over %dx%d and back: screen %q, was %q", toCols, toRows, got, screen)
		}
		if got := term.Cursor(); got != cursor {
			return fmt.Sprintf("over %dx%d and back: cursor %+v, was %+v", toCols, toRows, got, cursor)
		}
		return ""
	}
}

// lowerLaw: making the screen lower and higher again moves nothing, wherever the
// cursor stands. Earlier resizes are left out: rows that they pushed up or down
// may come back as well.
func lowerLaw(cfg vt.Config, seed uint64) func([]step) string {
	cfg.Scrollback = 20000
	return func(steps []step) string {
		r := rand.New(rand.NewPCG(seed, 4))
		term := vt.New(cfg)
		for _, s := range steps {
			if s.cols == 0 {
				s.do(term)
			}
		}
		cols, rows := term.Size()
		term.Write(fmt.Appendf(nil, "\x18\x1b[!p\x1b[?1049l\x1b[r\x1b[?6l\x1b[%d;%dH", 1+r.IntN(rows), 1+r.IntN(cols)))
		before, screen, cursor := term.Logical(), string(term.AppendText(nil)), term.Cursor()
		lower := 1 + r.IntN(rows)
		term.Resize(cols, lower)
		if err := term.Check(); err != nil {
			return err.Error()
		}
		if d := dumpDiff(term, cfg); d != "" {
			return d
		}
		term.Resize(cols, rows)
		if got := term.Logical(); !slices.Equal(got, before) {
			return fmt.Sprintf("over %d rows and back: text %q, was %q", lower, got, before)
		}
		if got := string(term.AppendText(nil)); got != screen || term.Cursor() != cursor {
			return fmt.Sprintf("over %d rows and back: screen %q, was %q, cursor %+v, was %+v", lower, got, screen, term.Cursor(), cursor)
		}
		return ""
	}
}

// hold checks a law for many seeds and shrinks the first input that breaks it.
func hold(t *testing.T, n int, law func(vt.Config, uint64) func([]step) string) {
	t.Helper()
	if testing.Short() {
		n /= 10
	}
	for seed := range n {
		g := newGenerator(uint64(seed))
		cols, rows := randomSize(g.r)
		cfg := config(cols, rows, g.r.IntN(3)*20)
		steps := randomSteps(g)
		check := law(cfg, uint64(seed))
		if check(steps) != "" {
			steps = shrink(steps, check)
			t.Fatalf("seed %d, %dx%d with %d rows of scrollback:\n%safter which: %s",
				seed, cols, rows, cfg.Scrollback, describe(steps), check(steps))
		}
	}
}

func TestDumpGivesAnEqualTerminal(t *testing.T) {
	hold(t, 800, func(cfg vt.Config, _ uint64) func([]step) string { return dumpLaw(cfg) })
}

func TestDumpedTerminalGoesOnTheSame(t *testing.T) { hold(t, 600, continueLaw) }

func TestSplitWritesGiveTheSameTerminal(t *testing.T) { hold(t, 600, splitLaw) }

func TestSpeedMakesNoDifference(t *testing.T) { hold(t, 600, slowLaw) }

func TestCanonicalTextIsTheRows(t *testing.T) {
	hold(t, 600, func(cfg vt.Config, _ uint64) func([]step) string { return textLaw(cfg) })
}

func TestLowerAndBackMovesNothing(t *testing.T) { hold(t, 600, lowerLaw) }

func TestResizeThereAndBackLosesNothing(t *testing.T) { hold(t, 600, resizeLaw) }
