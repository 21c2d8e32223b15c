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
