package cell

import (
	"slices"
	"strings"

	"den/internal/base/lazy"
)

// MaxQuestion bounds the lines of a question.
const MaxQuestion = 20

// ShownLine is a line of the screen.
type ShownLine struct {
	Text   string
	Marked bool // some of it is shown in inverse, as menus show the line that is chosen
}

// choice matches lines of menus: "1) build", "[a] abort", "> first", "( ) none".
var choice = lazy.Regexp{Expr: `^\s*([\[(]?([0-9]{1,3}|[A-Za-z])[.)\]]|[0-9]{1,3}:|[>❯›»→▶▸●○◉◯◻◼☐☑•*+-]|\[[ xX*]\]|\([ xX*]\))\s+\S`}

// pointer matches what stands before the line of a menu that is chosen.
var pointer = lazy.Regexp{Expr: `^\s*[>❯›»→▶▸●◉*]\s+`}

// Question returns what a program asks: the line of the cursor, or the whole
// menu if that is one. lines are those around the cursor, that of the cursor with
// number at; left is the text left of it. hidden says that the cursor is. The line
// that is chosen begins with "> ", if it is only shown in inverse.
func Question(lines []ShownLine, at int, left string, hidden bool) string {
	left = strings.TrimSpace(left)
	top, bottom := block(lines, at)
	first, last, choices, inverse := choicesIn(lines[top:bottom], at-top)
	if choices < 2 && !hidden {
		return left
	}
	begin, end := top, bottom
	if choices > 1 {
		begin, end = heading(lines, top, top+first), max(at, top+last)+1
	}
	var text []string
	for i := begin; i < end; i++ {
		line := strings.TrimRight(lines[i].Text, " ")
		if i == at && !hidden && last+top < at {
			line = strings.TrimRight(left, " ")
		}
		if inverse && lines[i].Marked {
			line = "> " + strings.TrimPrefix(line, "  ")
		}
		text = append(text, line)
	}
	text = text[max(0, len(text)-MaxQuestion):]
	return strings.Trim(strings.Join(text, "\n"), "\n ")
}

// ScreenQuestion is Question for a program that draws the whole screen. A hidden
// cursor need not stand in the menu: the line that is chosen does. Where it is
// shown, lines that begin as those of a menu may be a text that is edited, unless
// one is chosen or the cursor is behind them.
func ScreenQuestion(lines []ShownLine, at int, left string, hidden bool) string {
	lines = withoutFrames(lines)
	if hidden {
		at = chosenLine(lines, at)
	}
	top, bottom := block(lines, at)
	outdent(lines[top:bottom])
	if hidden {
		return Question(lines, at, left, true)
	}
	_, last, choices, inverse := choicesIn(lines[top:bottom], at-top)
	if choices < 2 || !inverse && at <= top+last && !slices.ContainsFunc(lines[top:bottom], isPointed) {
		return strings.TrimSpace(left)
	}
	return Question(lines, at, left, false)
}

// chosenLine returns the only line of the screen that is chosen, or else at. Lines
// at its edges may show what the program does.
func chosenLine(lines []ShownLine, at int) int {
	for edge := range 2 {
		var found []int
		for i := edge; i < len(lines)-edge; i++ {
			if lines[i].Marked || isPointed(lines[i]) {
				found = append(found, i)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return at
}

// isPointed reports whether a pointer stands before a line's text.
func isPointed(l ShownLine) bool {
	mark := pointer.Get().FindString(l.Text)
	return mark != "" && strings.TrimSpace(l.Text[len(mark):]) != ""
}

// withoutFrames returns lines without the boxes around them.
func withoutFrames(lines []ShownLine) []ShownLine {
	bare := slices.Clone(lines)
	for i := range bare {
		bare[i].Text = strings.TrimRight(strings.Map(func(r rune) rune {
			if r >= '\u2500' && r <= '\u259f' { // lines, corners and blocks
				return ' '
			}
			return r
		}, bare[i].Text), " ")
	}
	return bare
}

// outdent leaves lines a margin of two columns, for the mark of the one that is
// chosen, where all have more.
func outdent(lines []ShownLine) {
	margin := -1
	for _, l := range lines {
		if !isBlank(l) && (margin < 0 || indentOf(l.Text) < margin) {
			margin = indentOf(l.Text)
		}
	}
	for i := range lines {
		lines[i].Text = lines[i].Text[min(max(margin-2, 0), len(lines[i].Text)):]
	}
}

// ShowsQuestion reports whether lines show all lines of a question in their order,
// whichever of a menu is chosen.
func ShowsQuestion(lines []ShownLine, question string) bool {
	want := strings.Split(question, "\n")
	for _, l := range lines {
		if len(want) > 0 && withoutPointer(l.Text) == withoutPointer(want[0]) {
			want = want[1:]
		}
	}
	return len(want) == 0
}

func withoutPointer(line string) string {
	return strings.TrimSpace(line[len(pointer.Get().FindString(line)):])
}

func isBlank(l ShownLine) bool { return strings.TrimSpace(l.Text) == "" }

// block returns the lines without a blank one around the line of the cursor. A
// blank one between a menu and its prompt is part of it.
func block(lines []ShownLine, at int) (top, bottom int) {
	for top = at; top > 0 && !isBlank(lines[top-1]); top-- {
	}
	if top == at && at > 1 && !isBlank(lines[at-2]) {
		for top = at - 2; top > 0 && !isBlank(lines[top-1]); top-- {
		}
	}
	for bottom = at + 1; bottom < len(lines) && !isBlank(lines[bottom]); bottom++ {
	}
	return top, bottom
}

// choicesIn finds the lines of a menu: those that begin as such lines do, and
// those around a chosen one that begin in the same column as its text. inverse says
// that only that shows which one is chosen.
func choicesIn(lines []ShownLine, at int) (first, last, count int, inverse bool) {
	indent := -1 // of the chosen line's text
	for i, l := range lines {
		if mark := pointer.Get().FindString(l.Text); strings.TrimSpace(l.Text[len(mark):]) == "" {
			continue
		} else if mark != "" {
			return countChoices(lines, len([]rune(mark)), false)
		} else if l.Marked && (i != at || indentOf(l.Text) > 0) { // else a pager asks there
			indent, inverse = indentOf(l.Text), !inverse && indent < 0
		}
	}
	return countChoices(lines, indent, inverse)
}

func countChoices(lines []ShownLine, indent int, one bool) (first, last, count int, inverse bool) {
	for i, l := range lines {
		if isBlank(l) || indentOf(l.Text) != indent && !choice.Get().MatchString(l.Text) {
			continue
		}
		if count++; count == 1 {
			first = i
		}
		last = i
	}
	return first, last, count, one
}

func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// heading returns where a menu begins whose choices begin at first: with the line
// before, if that ends as a question does.
func heading(lines []ShownLine, top, first int) int {
	switch {
	case first > top && endsAsQuestion(lines[first-1].Text):
		return first - 1
	case first == top && first > 1 && isBlank(lines[first-1]) && endsAsQuestion(lines[first-2].Text):
		return first - 2
	}
	return first
}
