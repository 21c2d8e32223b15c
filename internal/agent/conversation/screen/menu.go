package screen

import (
	"slices"
	"strconv"
	"strings"

	"den/internal/base/lazy"
)

// A menu is rows to choose from at the end of a screen, one of them chosen.
type menu struct {
	options []string // labels without their numbers, from the top
	whole   []string // the same with the rows that a long one goes on in
	chosen  int
	top     int  // the row of the first option
	numbers bool // the options are numbered
	footer  bool // a line below says which keys to press
}

var number = lazy.Regexp{Expr: `^[0-9]{1,2}[.)] +`}

const (
	// maxOptions is how many rows of a menu are read above its chosen row, and
	// below: options may have several.
	maxOptions = 40
	// maxBelow is how many rows may stand below a menu that are no hint on
	// keys: a status line. More is output that came after it.
	maxBelow = 2
)

// findMenu returns the menu that a screen ends with, or nil. The chosen row is
// the last one with a cursor glyph: whatever stands further up is history, as
// is all above a menu that lies on one line.
func (p *profile) findMenu(rows []row) *menu {
	if p.flatMenu(rows) >= 0 {
		return nil
	}
	at, column := -1, 0
	for i := len(rows) - 1; i >= 0; i-- {
		if _, c, ok := rows[i].cutCursor(); ok {
			at, column = i, c
			break
		}
		if rows[i].emptyComposer() {
			return nil // whatever comes above has been
		}
	}
	if at < 0 {
		return nil
	}
	m := &menu{top: at}
	first := at
	for first > 0 && at-first < maxOptions && goesOn(rows, first-1, column) {
		first--
	}
	end := at
	for end+1 < len(rows) && end-at < maxOptions && goesOn(rows, end+1, column) {
		end++
	}
	width := widthOf(rows)
	for i := first; i <= end; i++ {
		if i > first && len(m.options) > 0 && i != at && rows[i].indent > column {
			m.goOn(rows[i-1], rows[i], width) // an option's second line
			continue
		}
		m.add(rows[i], i, i == at, column)
	}
	below := 0
	for _, r := range rows[end+1:] {
		switch {
		case below > maxBelow:
		case p.footers.MatchString(r.text):
			m.footer, below = true, 0
		case !r.blank():
			below++
		}
	}
	// Two lines in a composer look like a menu without numbers or a footer.
	if len(m.options) < 2 || below > maxBelow || !m.numbers && !m.footer {
		return nil
	}
	return m
}

// emptyComposer reports whether a row is a line to type in, and empty.
func (r row) emptyComposer() bool {
	runes := []rune(r.text)
	return len(runes) == 1 && strings.ContainsRune(cursors, runes[0])
}

// belongs reports whether a row can be an option's, or the rest of one.
func (r row) belongs(column int) bool { return !r.blank() && r.indent >= column }

// goesOn reports whether a row next to a menu's is one of it, too. A line may
// part options whose numbers go on behind it.
func goesOn(rows []row, i, column int) bool {
	if rows[i].belongs(column) {
		return true
	}
	if !rows[i].edge || i+1 == len(rows) {
		return false
	}
	for above := i - 1; above >= 0 && rows[above].belongs(column); above-- {
		if n := rows[above].number(); n > 0 {
			return rows[i+1].number() == n+1
		}
	}
	return false
}

// number is that of an option, 0 for none.
func (r row) number() int {
	label := r.text
	if cut, _, ok := r.cutCursor(); ok {
		label = cut
	}
	n, err := strconv.Atoi(strings.TrimRight(number.Get().FindString(label), ".) "))
	if err != nil {
		return 0
	}
	return n
}

func (m *menu) add(r row, at int, chosen bool, column int) {
	if r.blank() {
		return // a line between options
	}
	label := r.text
	if chosen {
		label, _, _ = r.cutCursor()
	} else if r.indent > column {
		return // what is above the first option
	}
	if len(m.options) == 0 {
		m.top = at
	}
	if chosen {
		m.chosen = len(m.options)
	}
	if n := number.Get().FindString(label); n != "" {
		m.numbers = true
		label = label[len(n):]
	}
	label = strings.TrimSpace(label)
	m.options, m.whole = append(m.options, label), append(m.whole, label)
}

// goOn takes in a further row of the last option, where the one above was full:
// else it tells more of the option, and is no part of it.
func (m *menu) goOn(above, r row, width int) {
	const frame = 4 // columns that a frame and its space take
	word, _, _ := strings.Cut(r.text, " ")
	if above.width()+1+len([]rune(word)) > width-frame {
		m.whole[len(m.whole)-1] += " " + r.text
	}
}

// width is how many columns a row takes without a frame at its right.
func (r row) width() int { return r.indent + len([]rune(r.text)) }

// widthOf is the width of a screen, as far as its rows tell.
func widthOf(rows []row) int {
	width := 0
	for _, r := range rows {
		width = max(width, len([]rune(strings.TrimRight(r.line, " "))))
	}
	return width
}

// asks reports whether the screen ends with something that waits for a choice:
// a message typed into it would be an answer.
func (p *profile) asks(screen string) bool {
	rows := rowsOf(screen)
	return p.findMenu(rows) != nil || p.wordsAlone(rows) != nil || p.flatMenu(rows) >= 0
}

// flatMenu returns the row of a menu that lies on one line, or -1.
func (p *profile) flatMenu(rows []row) int {
	for i := len(rows) - 1; i >= 0 && i >= len(rows)-4; i-- {
		for _, words := range p.flatMenus {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(rows[i].text, w) }) {
				return i
			}
		}
	}
	return -1
}

// asksForKey is asks for programs of which nothing is known: a list that they
// printed is no menu, unless a line below says which keys to press.
func (p *profile) asksForKey(screen string) bool {
	m := p.findMenu(rowsOf(screen))
	return m == nil || m.footer
}
