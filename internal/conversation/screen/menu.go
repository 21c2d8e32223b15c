package screen

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A menu is rows to choose from at the end of a screen, one of them chosen.
type menu struct {
	options []string // labels without their numbers, from the top
	chosen  int
	top     int  // the row of the first option
	numbers bool // the options are numbered
	footer  bool // a line below says which keys to press
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,2}[.)] +`) })

const (
	maxOptions = 12
	// maxBelow is how many rows may stand below a menu that are no hint on
	// keys: a status line. More is output that came after it.
	maxBelow = 2
)

// findMenu returns the menu that a screen ends with, or nil. The chosen row is
// the last one with a cursor glyph: whatever stands further up is history.
func (p *profile) findMenu(rows []row) *menu {
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
	for first > 0 && at-first < maxOptions && rows[first-1].belongs(column) {
		first--
	}
	end := at
	for end+1 < len(rows) && end-at < maxOptions && rows[end+1].belongs(column) {
		end++
	}
	for i := first; i <= end; i++ {
		m.add(rows[i], i, i == at, column)
	}
	below := 0
	for _, r := range rows[end+1:] {
		switch {
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

func (m *menu) add(r row, at int, chosen bool, column int) {
	label := r.text
	if chosen {
		label, _, _ = r.cutCursor()
	} else if r.indent > column {
		return // an option's second line
	}
	if len(m.options) == 0 {
		m.top = at
	}
	if chosen {
		m.chosen = len(m.options)
	}
	if n := number().FindString(label); n != "" {
		m.numbers = true
		label = label[len(n):]
	}
	m.options = append(m.options, strings.TrimSpace(label))
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
