package screen

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// questionBox is how a vendor draws what surrounds a question, as it is
// written. What stands outside of it is not a part of the question.
type questionBox struct {
	Top   string   `toml:"top"`   // what the line above it begins with, in the first column
	Left  string   `toml:"left"`  // what each of its lines begins with
	Heads []string `toml:"heads"` // what its first line says, where nothing is drawn around it
	Moves []string `toml:"moves"` // what changes in it by itself: tips, seconds that pass
}

// A frame finds the question that belongs to a menu.
type frame struct {
	top, left string
	heads     *regexp.Regexp // nil for none
}

func newFrame(q questionBox) frame {
	return frame{top: q.Top, left: q.Left, heads: anyOf(`(?i)^`, q.Heads, ``)}
}

// first returns the first row of the box whose menu begins at a row, -1 where
// there is none.
func (f frame) first(rows []row, menu int) int {
	switch {
	case f.left != "":
		return f.firstInside(rows, menu)
	case f.top != "":
		for i := menu - 1; i >= 0; i-- {
			if strings.HasPrefix(rows[i].line, f.top) {
				return i + 1
			}
		}
		return -1
	}
	return f.firstHead(rows, menu)
}

// firstInside looks for a box with a bar at its left.
func (f frame) firstInside(rows []row, menu int) int {
	inside := func(i int) bool { return strings.HasPrefix(strings.TrimSpace(rows[i].line), f.left) }
	if menu >= len(rows) || !inside(menu) {
		return -1
	}
	for menu > 0 && inside(menu-1) {
		menu--
	}
	return menu
}

// firstHead looks for a first line. What begins in the first column is history.
// The line that is furthest up counts: a text inside of the question that looks
// like one hides nothing of it.
func (f frame) firstHead(rows []row, menu int) int {
	first := -1
	for i := menu - 1; i >= 0 && (rows[i].blank() || rows[i].indent > 0); i-- {
		if f.heads != nil && f.heads.MatchString(rows[i].text) {
			first = i
		}
	}
	return first
}

// asked returns the rows above a menu that belong to its question. Where no box
// is seen these are the ones up to a line, or to an empty space.
func (p *profile) asked(rows []row, menu int) []row {
	nearest := -1
	for _, f := range p.frames {
		nearest = max(nearest, f.first(rows, menu))
	}
	if nearest >= 0 {
		return rows[nearest:menu]
	}
	first := menu
	for gap := 0; first > 0 && menu-first < aboveMenu; first-- {
		r := rows[first-1]
		if gap++; !r.blank() {
			gap = 0
		}
		if r.edge && first < menu || gap == 2 {
			break
		}
	}
	return rows[first:menu]
}

// lasting returns the texts of rows without what changes by itself.
func (p *profile) lasting(texts []string) []string {
	var all []string
	for _, text := range texts {
		if p.moves != nil {
			text = strings.TrimSpace(p.moves.ReplaceAllString(text, ""))
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// textsOf are the texts of rows that have one.
func textsOf(rows []row) []string {
	var all []string
	for _, r := range rows {
		if !r.blank() {
			all = append(all, r.text)
		}
	}
	return all
}

// framesOf are those of several vendors.
func framesOf(files []*vendorFile) []frame {
	var all []frame
	for _, f := range files {
		if q := f.Question; q.Top != "" || q.Left != "" || len(q.Heads) > 0 {
			all = append(all, newFrame(q))
		}
	}
	return all
}

// A row is one line of a screen without the frame that programs draw around
// their dialogs.
type row struct {
	text   string // no-break spaces as spaces; no frame, no space at the end
	indent int    // columns before the text
	line   string // as it was drawn
	edge   bool   // it is a line of a frame, without a text
}

func (r row) blank() bool { return r.text == "" }

// rowsOf reads a screen. Only its last rows matter to the callers, so a blank
// end is cut off.
func rowsOf(screen string) []row {
	var rows []row
	for line := range strings.SplitSeq(screen, "\n") {
		rows = append(rows, newRow(line))
	}
	for len(rows) > 0 && rows[len(rows)-1].blank() {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// newRow drops the frame: its sides where they stand alone, its edges whole.
func newRow(line string) row {
	runes := []rune(strings.TrimRightFunc(strings.ReplaceAll(line, "\u00a0", " "), unicode.IsSpace))
	for n := len(runes); n > 0 && isSide(runes[n-1]); n = len(runes) {
		runes = []rune(strings.TrimRightFunc(string(runes[:n-1]), unicode.IsSpace))
	}
	for i, r := range runes {
		if isSide(r) {
			runes[i] = ' '
			continue
		}
		if r != ' ' {
			break
		}
	}
	text := strings.TrimLeft(string(runes), " ")
	if strings.Trim(text, "─━═╌╍┄┅-▄▀▔▁╭╮╰╯┌┐└┘├┤╹╻ ") == "" {
		return row{line: line, edge: text != ""}
	}
	return row{text: text, indent: len(runes) - len([]rune(text)), line: line}
}

func isSide(r rune) bool { return strings.ContainsRune("│┃║|▎▏", r) }

// cursors are the glyphs that programs put before the chosen row of a menu,
// and most of them before the line where they take input.
const cursors = "❯›>●▶→◉"

// cutCursor splits a row at its cursor glyph.
func (r row) cutCursor() (label string, column int, ok bool) {
	runes := []rune(r.text)
	if len(runes) < 2 || !strings.ContainsRune(cursors, runes[0]) || runes[1] != ' ' {
		return "", 0, false
	}
	label = strings.TrimLeft(string(runes[1:]), " ")
	return label, r.indent + len(runes) - len([]rune(label)), label != ""
}

// squeeze drops what wrapping and frames add to a text.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u00a0' || isSide(r) || r >= 0x2500 && r <= 0x259f {
			return -1
		}
		return r
	}, s)
}

// showsPrompt reports whether one of the last lines begins with the prefix,
// or is the prefix without its space.
func showsPrompt(screen, prefix string) bool {
	const last = 12
	prefix = strings.ReplaceAll(prefix, "\u00a0", " ")
	rows := rowsOf(screen)
	for _, r := range rows[max(0, len(rows)-last):] {
		if strings.HasPrefix(r.text, prefix) || r.text == strings.TrimSpace(prefix) {
			return true
		}
	}
	return false
}

// lastRows is how many rows at the end of a screen tell what its program does.
const lastRows = 6

// takesTyping reports whether a screen shows the prompt of a program that
// reads what is typed there.
func (p *profile) takesTyping(screen, prefix string) bool {
	return p.showsComposer(screen, prefix) && !p.asks(screen) && !marked(p.notReading, endOf(screen))
}

// showsComposer reports whether a screen shows the prompt, another of the
// vendor's, or its box.
func (p *profile) showsComposer(screen, prefix string) bool {
	other := func(prompt string) bool { return showsPrompt(screen, prompt) }
	return showsPrompt(screen, prefix) || slices.ContainsFunc(p.prompts, other) || p.composer.Left != "" && p.composer.find(screen) != nil
}

// endOf is the text of the last rows, in lower case.
func endOf(screen string) string {
	rows := rowsOf(screen)
	return textOf(rows[max(0, len(rows)-lastRows):])
}
