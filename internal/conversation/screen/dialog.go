package screen

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
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

func options(patterns ...string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, p := range patterns {
		all = append(all, regexp.MustCompile(`(?i)^`+p+`$`))
	}
	return all
}

var no = `(no\b.*|don'?t trust.*|exit.*|quit.*|cancel.*|back\b.*|reject.*|skip.*)`

// dialogs is the table of what is known. The first whose mark is on the screen
// counts. It is made when it is first needed: commands of den that only name an
// agent link this package too.
var dialogs = sync.OnceValue(func() []dialog {
	return []dialog{
		{
			name:       "bypass permissions",
			marks:      []string{"bypass permissions mode"},
			yes:        options(`yes, i accept`, `yes, i accept the risks?`),
			other:      options(no),
			permission: true,
		},
		{
			name:  "API key",
			marks: []string{"detected a custom api key in your environment", "do you want to use this api key?"},
			yes:   options(`yes`),
			other: options(no),
		},
		{
			name:  "MCP servers",
			marks: []string{"new mcp server found in", "new mcp servers found in", "mcp server approval required"},
			yes:   options(`use this mcp server`, `yes, approve.*`, `approve`),
			other: options(`use this and all future mcp servers.*`, `continue without using this mcp server`, `approve all.*`, no),
		},
		{
			// codex, where the model that is set has a successor: the user's choice stays.
			name:  "new model",
			marks: []string{"meet gpt-"},
			yes:   options(`use existing model`),
			other: options(`try new model`),
		},
		{
			name: "trust folder",
			marks: []string{
				"trust this folder", "quick safety check", // claude, codex
				"do you trust the contents of this directory", // codex
				"do you trust the files in this folder",       // gemini, qwen, copilot
				"trust project folder?",                       // pi
				"workspace trust required",                    // cursor
			},
			yes: options(`yes, i trust this folder`, `yes, proceed`, `yes, continue`, `trust and continue`, `trust folder.*`,
				`trust this (folder|project|workspace|time).*`, `trust once.*`, `trust`, `yes`, `yes, trust.*`),
			other: options(`trust parent folder.*`, `yes, and remember.*`, `trust (always|permanently).*`, no),
		},
	}
})

// A detectedDialog is a known dialog on a screen.
type detectedDialog struct {
	dialog *dialog
	menu   *menu // nil where the layout is not known
	target int   // the option to choose
	why    string
}

// known reports whether the detectedDialog may be answered.
func (s *detectedDialog) known() bool { return s.menu != nil }

// recognise finds the dialog that a screen ends with, or nil. Words alone are
// no dialog: without a menu below them they count only on a screen that shows
// no place to type, and then as a layout that is not known.
func detectDialog(screen string) *detectedDialog {
	rows := rowsOf(screen)
	m := findMenu(rows)
	if m == nil {
		return wordsAlone(rows)
	}
	const above = 24 // rows from the mark to the menu
	text := textOf(rows[max(0, m.top-above):m.top])
	for i := range dialogs() {
		d := &dialogs()[i]
		if d.marked(text) {
			return d.match(m)
		}
	}
	return nil
}

func textOf(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.ToLower(r.text))
		b.WriteByte(' ')
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (d *dialog) marked(text string) bool {
	for _, mark := range d.marks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
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
func wordsAlone(rows []row) *detectedDialog {
	last := rows[max(0, len(rows)-24):]
	asksKey := false
	for _, r := range last[max(0, len(last)-1-maxBelow):] {
		asksKey = (asksKey || footers().MatchString(r.text)) && !r.emptyComposer()
	}
	if !asksKey {
		return nil
	}
	text := textOf(last)
	for i := range dialogs() {
		if dialogs()[i].marked(text) {
			return &detectedDialog{dialog: &dialogs()[i], why: "its options are not drawn in a way that is known"}
		}
	}
	return nil
}
