package screen

import (
	"regexp"
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

var (
	number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,2}[.)] +`) })
	// footers say that something waits for a choice. "esc to interrupt" is not
	// one: it stands below the composer of a busy agent.
	footers = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(enter to (confirm|select|submit|continue)|enter (confirm|continue|select)|press enter to|esc to cancel|esc (back|to exit)|↑/?↓ to navigate)`)
	})
)

const (
	maxOptions = 12
	// maxBelow is how many rows may stand below a menu that are no hint on
	// keys: a status line. More is output that came after it.
	maxBelow = 2
)

// findMenu returns the menu that a screen ends with, or nil. The chosen row is
// the last one with a cursor glyph: whatever stands further up is history.
func findMenu(rows []row) *menu {
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
		case footers().MatchString(r.text):
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

// asks reports whether the screen ends with something that waits for a
// choice: a nudge typed into it would be an answer.
func asks(screen string) bool {
	rows := rowsOf(screen)
	if findMenu(rows) != nil || wordsAlone(rows) != nil {
		return true
	}
	// A menu may lie on one line.
	for _, r := range rows[max(0, len(rows)-4):] {
		if strings.Contains(r.text, "⇆ select") && strings.Contains(r.text, "enter confirm") {
			return true
		}
	}
	return false
}

// asksForKey is asks for programs of which nothing is known: a list that they
// printed is no menu, unless a line below says which keys to press.
func asksForKey(screen string) bool {
	m := findMenu(rowsOf(screen))
	return m == nil || m.footer
}
