package cell_test

import (
	"strings"
	"testing"

	"den/internal/session/cell"
)

func TestQuestion(t *testing.T) {
	t.Parallel()
	log := strings.TrimSuffix(strings.Repeat("compiling\n", 30), "\n")
	for name, test := range map[string]struct {
		before, left, after string
		marked              string // a line that is shown in inverse
		hidden              bool
		want                string
	}{
		"a line":                      {before: log, left: "Continue? [y/N] ", want: "Continue? [y/N]"},
		"text before it":              {before: "The key is not known.\nIt is SHA256:x.", left: "Go on (yes/no)? ", want: "Go on (yes/no)?"},
		"select":                      {before: log + "\n1) build\n2) test\n3) archive", left: "#? ", want: "1) build\n2) test\n3) archive\n#?"},
		"with a heading":              {before: log + "\nWhat now?\n1) build\n2) test", left: "> ", want: "What now?\n1) build\n2) test\n>"},
		"behind a blank line":         {before: log + "\n\nChoose one:\n\n  1. Africa\n  2. America\n", left: "Area: ", want: "Choose one:\n\n  1. Africa\n  2. America\n\nArea:"},
		"a pointer":                   {before: log + "\nChoose:\n> Build\n  Test", left: "  Archive", want: "Choose:\n> Build\n  Test\n  Archive"},
		"inverse":                     {before: log + "\n\nBuild\nTest", left: "Archive", marked: "Test", hidden: true, want: "Build\n> Test\nArchive"},
		"a pager":                     {before: log, left: "--More--(42%)", marked: "--More--(42%)", want: "--More--(42%)"},
		"the cursor above":            {before: log, left: "? Which one: ", after: "❯ Build\n  Test\n  Archive\n\nelse", hidden: true, want: "? Which one:\n❯ Build\n  Test\n  Archive"},
		"boxes":                       {before: "Features:\n[x] tests\n[ ] docs", left: "toggle (1-2): ", want: "Features:\n[x] tests\n[ ] docs\ntoggle (1-2):"},
		"one item is none":            {before: "- a remark", left: "Name: ", want: "Name:"},
		"a list far above":            {before: "- a\n- b\n\nmore text\n", left: "Name: ", want: "Name:"},
		"nothing but a hidden cursor": {before: "", left: "", hidden: true, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []cell.ShownLine
			add := func(text string) {
				lines = append(lines, cell.ShownLine{Text: text, Marked: test.marked != "" && text == test.marked})
			}
			for line := range strings.SplitSeq(test.before, "\n") {
				add(line)
			}
			at := len(lines)
			add(test.left)
			for line := range strings.SplitSeq(test.after, "\n") {
				add(line)
			}
			if got := cell.Question(lines, at, test.left, test.hidden); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Of a program that draws the whole screen the question is its menu, too, wherever
// the cursor is, and of others the line of the cursor.
func TestScreenQuestion(t *testing.T) {
	t.Parallel()
	box := `
          ┌────────┤ What now? ├────────┐
          │                             │
          │   Choose an action:         │
          │     Build                   │
          │     Test                    │
          │     Archive                 │
          │                             │
          └─────────────────────────────┘`
	for name, test := range map[string]struct {
		screen string
		marked string // of lines that are shown in inverse, a part
		cursor string // the line of the cursor, which stands behind this
		hidden bool
		want   string
	}{
		"a box":                       {screen: box, marked: "Test", hidden: true, want: "Choose an action:\n    Build\n>   Test\n    Archive"},
		"a box, the cursor in it":     {screen: box, marked: "Test", cursor: "          │     Test", want: "Choose an action:\n    Build\n>   Test\n    Archive"},
		"a list with a status line":   {screen: "files 3/7\n  a.go\n  b.go\n  c.go\n\nF1 help", marked: "b.go F1", hidden: true, want: "a.go\n> b.go\n  c.go"},
		"a prompt below":              {screen: "Choose:\n  1) build\n  2) test\nNumber: ", cursor: "Number: ", want: "Choose:\n  1) build\n  2) test\nNumber:"},
		"a pointer":                   {screen: "Pick one:\n  red\n> green\n  blue", hidden: true, want: "Pick one:\n  red\n> green\n  blue"},
		"an editor":                   {screen: "# Todo\n1. eat\n2. sleep\n~\n~", cursor: "1. e", want: "1. e"},
		"a pager":                     {screen: "a text\nof two lines\n(END)", marked: "(END)", cursor: "(END)", want: "(END)"},
		"a form":                      {screen: "  Name: \n  Mail: ", cursor: "  Name: ", want: "Name:"},
		"nothing but a hidden cursor": {screen: "", hidden: true, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []cell.ShownLine
			at := 0
			for i, line := range strings.Split(test.screen, "\n") {
				marked := false
				for part := range strings.FieldsSeq(test.marked) {
					marked = marked || strings.Contains(line, part)
				}
				lines = append(lines, cell.ShownLine{Text: line, Marked: marked})
				if test.cursor != "" && strings.HasPrefix(line, test.cursor) {
					at = i
				}
			}
			if got := cell.ScreenQuestion(lines, at, test.cursor, test.hidden); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A menu longer than a question may be is told with its end.
func TestLongMenu(t *testing.T) {
	t.Parallel()
	var lines []cell.ShownLine
	for range 50 {
		lines = append(lines, cell.ShownLine{Text: "* an item"})
	}
	lines = append(lines, cell.ShownLine{Text: "which? "})
	got := cell.Question(lines, 50, "which? ", false)
	if n := strings.Count(got, "\n") + 1; n != cell.MaxQuestion || !strings.HasSuffix(got, "\nwhich?") {
		t.Errorf("%d lines: %q", n, got)
	}
}
