package terminal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spoolIn keeps what does not fit in files of a directory.
func spoolIn(dir string) spool {
	made := 0
	return spool{create: func() (*os.File, string, error) {
		made++
		path := filepath.Join(dir, fmt.Sprintf("output-%d", made))
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		return f, path, err
	}}
}

func TestElision(t *testing.T) {
	for _, c := range []struct {
		lines   int
		shown   int
		omitted int
	}{{0, 0, 0}, {1, 1, 0}, {19, 19, 0}, {20, 20, 0}, {21, 20, 1}, {30, 20, 10}, {31, 20, 11}, {50, 20, 30}, {100_000, 20, 99_980}} {
		t.Run(fmt.Sprint(c.lines), func(t *testing.T) {
			s := spoolIn(t.TempDir())
			var want strings.Builder
			for i := range c.lines {
				text := fmt.Sprintf("line %d", i+1)
				s.add(Line{Text: text})
				want.WriteString(text + "\n")
			}
			l, err := s.drain(false)
			if err != nil || len(l.Shown) != c.shown || l.Total != c.lines || l.Omitted != c.omitted {
				t.Fatalf("%d shown of %d, %d omitted, %v", len(l.Shown), l.Total, l.Omitted, err)
			}
			if c.lines > 0 && (l.Shown[0].Text != "line 1" || l.Shown[len(l.Shown)-1].Text != fmt.Sprintf("line %d", c.lines)) {
				t.Errorf("from %q to %q", l.Shown[0].Text, l.Shown[len(l.Shown)-1].Text)
			}
			if (l.Whole != "") != (c.omitted > 0) {
				t.Fatalf("the whole is in %q", l.Whole)
			}
			if l.Whole != "" {
				if l.Shown[9].Text != "line 10" || l.Shown[10].Text != fmt.Sprintf("line %d", c.lines-9) || l.Head != 10 {
					t.Errorf("%q is followed by %q", l.Shown[9].Text, l.Shown[10].Text)
				}
				got, err := os.ReadFile(l.Whole)
				if err != nil || string(got) != want.String() {
					t.Errorf("the whole has %d bytes, want %d, %v", len(got), want.Len(), err)
				}
			}
			if again, err := s.drain(false); err != nil || again.Total != 0 {
				t.Errorf("a second time: %+v, %v", again, err)
			}
		})
	}
}

// All lines are shown where the agent must see all, as at login.
func TestElisionOfNothing(t *testing.T) {
	s := spoolIn(t.TempDir())
	for i := range 1000 {
		s.add(Line{Text: fmt.Sprint(i), Again: i == 0})
	}
	l, err := s.drain(true)
	if err != nil || len(l.Shown) != 1000 || l.Omitted != 0 || l.Whole != "" || !l.Shown[0].Again || l.Shown[999].Text != "999" {
		t.Errorf("%d shown of %d, %d omitted, %v", len(l.Shown), l.Total, l.Omitted, err)
	}
}

func TestSpoolWithoutRoom(t *testing.T) {
	full := errors.New("the disk is full")
	s := spool{create: func() (*os.File, string, error) { return nil, "", full }}
	for i := range 50 {
		s.add(Line{Text: fmt.Sprint(i)})
	}
	l, err := s.drain(false)
	if !errors.Is(err, full) || len(l.Shown) != 20 || l.Omitted != 30 || l.Shown[19].Text != "49" {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestReportText(t *testing.T) {
	code := 7
	numbered := func(n int) (l Lines) {
		for i := range n {
			l.Shown = append(l.Shown, Line{Text: fmt.Sprint("line ", i+1)})
		}
		l.Total, l.Head = n, n
		return l
	}
	long := Lines{Total: 25, Head: 1, Omitted: 23, Whole: "/x/output-1", Shown: []Line{{Text: "first"}, {Text: "last"}}}
	rows := make([]Row, 30)
	for i := range rows {
		rows[i] = Row{i + 1, fmt.Sprint("row ", i+1)}
	}
	for _, c := range []struct {
		name string
		r    Report
		want string
	}{
		{"nothing", Report{Number: 3, Command: "bash", Program: "bash", State: StateReady}, "[terminal 3: bash, ready] no change"},
		{"unknown", Report{Command: "node", State: StateUnknown}, "[terminal 0: node] no change"},
		{"a label", Report{Number: 1, Label: "mail", Command: "mutt", Program: "mutt", State: StateReady}, "[terminal 1: mail: mutt, ready] no change"},
		{"one line", Report{Program: "make", State: StateRunning, Lines: numbered(1)}, "[terminal 0: make, running]\n1 new line:\n  line 1"},
		{"two lines", Report{Program: "bash", State: StateReady, Lines: numbered(2)}, "[terminal 0: bash, ready]\n2 new lines:\n  line 1\n  line 2"},
		{"kinds of lines", Report{Program: "x", State: StateUnknown, Lines: Lines{Total: 3, Head: 3, Shown: []Line{{Text: "a", Redrawn: true}, {Text: "b", Again: true}, {Text: "c", Joined: true}}}},
			"[terminal 0: x]\n3 new lines:\n~ a\n  b\n… c"},
		{"omitted", Report{Program: "x", State: StateUnknown, Lines: long},
			"[terminal 0: x]\n25 new lines:\n  first\n  … (23 lines omitted; all in /x/output-1) …\n  last"},
		{"cleared", Report{Program: "x", State: StateUnknown, Cleared: true}, "[terminal 0: x]\nthe screen was cleared"},
		{"exit", Report{Number: 2, Program: "x", State: StateExited, Exit: &Exit{Code: &code}, Archive: "system/logs/sessions/tty_2-tick-001"},
			"[terminal 2: x]\nprocess exited (code 7); archived in system/logs/sessions/tty_2-tick-001"},
		{"a signal", Report{Program: "x", State: StateExited, Exit: &Exit{Code: &code, Signal: "SIGKILL"}}, "[terminal 0: x]\nprocess was ended by SIGKILL"},
		{"lost", Report{Program: "x", State: StateLost, Exit: &Exit{}}, "[terminal 0: x]\nprocess is gone; how it ended is not known"},
		{"notes", Report{Program: "x", State: StateUnknown, Notes: []string{"something was lost"}}, "[terminal 0: x]\n(something was lost)"},
		{"a full screen", Report{Program: "vim", State: StateReady, FullScreen: true, Rows: rows[:2]},
			"[terminal 0: vim, ready]\nfull screen, 2 rows changed:\n   1| row 1\n   2| row 2"},
	} {
		if got := c.r.Text(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	r := Report{Program: "vim", State: StateReady, FullScreen: true, Rows: rows, Screen: "/x/screen"}
	text := r.Text()
	if strings.Count(text, "\n") != 1+20+1 || !strings.Contains(text, "  10| row 10\n  … (10 rows omitted; the screen is in /x/screen) …\n  21| row 21") {
		t.Errorf("a long screen:\n%s", text)
	}
}

func TestLongLines(t *testing.T) {
	s := spoolIn(t.TempDir())
	s.add(Line{Text: strings.Repeat("é", longLine)})
	s.add(Line{Text: strings.Repeat("a", longLine) + "é"})
	l, err := s.drain(false)
	if err != nil || l.Whole == "" {
		t.Fatalf("%+v, %v", l, err)
	}
	r := Report{Program: "x", State: StateUnknown, Lines: l}
	text := r.Text()
	if !strings.Contains(text, "(101 characters omitted)") || strings.Count(text, "omitted") != 1 || !strings.Contains(text, "whole in "+l.Whole) {
		t.Error(text)
	}
}
