package screen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A dialog is a question that a coding agent asks when it comes up. It is
// known by its words and by its whole menu: every option must be one of the
// listed, or no key is pressed.
type dialog struct {
	name  string
	marks []string         // one of them stands above the menu
	yes   []*regexp.Regexp // what to choose, the first that is there
	other []*regexp.Regexp // the other options that are known
	// permission dialogs are answered only where the agent's hints expect one.
	permission bool
}

// detectedDialog is a known dialog found on a screen.
type detectedDialog struct {
	dialog *dialog
	menu   *menu // nil where the layout is not known
	target int   // the option to choose
	why    string
}

// known reports whether the dialog may be answered.
func (s *detectedDialog) known() bool { return s.menu != nil }

// detectDialog finds the dialog that a screen ends with, or nil. Words alone
// are no dialog: without a menu below them they count only on a screen that
// shows no place to type, and then as a layout that is not known.
func (p *profile) detectDialog(screen string) *detectedDialog {
	rows := rowsOf(screen)
	m := p.findMenu(rows)
	if m == nil {
		return p.wordsAlone(rows)
	}
	var unknown *detectedDialog
	text := textOf(rows[max(0, m.top-aboveMenu):m.top])
	for i := range p.dialogs {
		d := &p.dialogs[i]
		if !marked(d.marks, text) {
			continue
		}
		found := d.match(m)
		if found.known() {
			return found
		}
		if unknown == nil {
			unknown = found
		}
	}
	return unknown
}

// aboveMenu is how many rows above a menu its words are looked for in.
const aboveMenu = 24

func textOf(rows []row) string {
	return lowered(strings.Join(textsOf(rows), " "))
}

// lowered is a text as textOf makes it.
func lowered(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// marked reports whether one of the marks is in the text.
func marked(marks []string, text string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(text, mark) })
}

// match finds the option to choose, if every option is known.
func (d *dialog) match(m *menu) *detectedDialog {
	s := &detectedDialog{dialog: d, target: -1}
	for _, o := range m.options {
		if !anyMatch(d.yes, o) && !anyMatch(d.other, o) {
			s.why = fmt.Sprintf("the option '%s' is not known", o)
			return s
		}
	}
	refusal := false
	for _, o := range m.options {
		refusal = refusal || anyMatch(d.other, o)
	}
	for _, yes := range d.yes {
		for i, o := range m.options {
			if yes.MatchString(o) && !anyMatch(d.other, o) && s.target < 0 {
				s.target = i
			}
		}
	}
	switch {
	case s.target < 0:
		s.why = "no option says yes"
	case !refusal:
		s.why = "no option says no: this may be another dialog"
	default:
		s.menu = m
	}
	return s
}

func anyMatch(patterns []*regexp.Regexp, s string) bool {
	for _, p := range patterns {
		if p.MatchString(s) {
			return true
		}
	}
	return false
}

// wordsAlone is a dialog's words at the end of a screen with nothing to choose
// from and a line that asks for a key.
func (p *profile) wordsAlone(rows []row) *detectedDialog {
	last := rows[max(0, len(rows)-aboveMenu):]
	asksKey := false
	for _, r := range last[max(0, len(last)-1-maxBelow):] {
		asksKey = (asksKey || p.footers.MatchString(r.text)) && !r.emptyComposer()
	}
	if !asksKey {
		return nil
	}
	text := textOf(last)
	for i := range p.dialogs {
		if marked(p.dialogs[i].marks, text) {
			return &detectedDialog{dialog: &p.dialogs[i], why: "its options are not drawn in a way that is known"}
		}
	}
	return nil
}
