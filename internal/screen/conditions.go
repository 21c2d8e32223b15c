package screen

import (
	"regexp"
	"strings"

	"den/internal/base/fault"
	"den/internal/screen/vt"
)

// Conditions are what a screen can be asked. Those that are nil do not count.
type Conditions struct {
	Text, Regex, Gone *string
	Changed           *string // a hash
	Cursor            *Point
	// After is the baseline of Text and Regex: a match counts if something of it
	// was written by a later event. 0 is none.
	After uint64
}

// Anywhere is a row or a column of a condition that does not count.
const Anywhere = -1

// Point is a place on the screen, from 0.
type Point struct {
	Row int `json:"row"`
	Col int `json:"col"`
}

// Matcher checks conditions on one screen after another.
type Matcher struct {
	Conditions
	regex    *regexp.Regexp // or nil
	linewise bool           // see isLinewise
}

// NewMatcher prepares conditions.
func NewMatcher(c Conditions) (*Matcher, error) {
	m := &Matcher{Conditions: c}
	if c.Regex != nil {
		re, err := regexp.Compile(*c.Regex)
		if err != nil {
			return nil, fault.Errorf(fault.Usage, "regular expression %q: %w", *c.Regex, err)
		}
		m.regex, m.linewise = re, isLinewise(*c.Regex)
	}
	return m, nil
}

// View is one screen; its texts are made once, and only if asked for.
type View struct {
	Terminal  *vt.Terminal
	text      string
	unwrapped string
	typed     string
	made      bool
	joined    bool
	padded    bool
}

// Text returns the canonical text.
func (v *View) Text() string {
	if !v.made {
		v.text, v.made = Text(v.Terminal), true
	}
	return v.text
}

// TextToCursor returns the canonical text with the blanks that stand before
// the cursor: a prompt ends with one.
func (v *View) TextToCursor() string {
	if !v.padded {
		v.typed, v.padded = TextToCursor(v.Terminal), true
	}
	return v.typed
}

// Contains searches the canonical text, also with the blanks before the cursor,
// and the text as the program printed it, before the terminal wrapped it.
func (v *View) Contains(s string) bool {
	if strings.Contains(v.Text(), s) || strings.HasSuffix(s, " ") && strings.Contains(v.TextToCursor(), s) {
		return true
	}
	return strings.Contains(v.Unwrapped(), s)
}

// Unwrapped returns the text as the program printed it.
func (v *View) Unwrapped() string {
	if !v.joined {
		v.unwrapped, v.joined = Unwrapped(v.Terminal), true
	}
	return v.unwrapped
}

// Match returns what text or regex found, and appends the names of the
// conditions that do not hold to unmet.
func (m *Matcher) Match(v *View, unmet []string) (found string, _ []string) {
	fail := func(ok bool, name string) {
		if !ok {
			unmet = append(unmet, name)
		}
	}
	if m.Text != nil {
		found = *m.Text
		fail(v.ContainsAfter(*m.Text, m.After), "text")
	}
	if m.regex != nil {
		match, ok := m.find(v, v.Text())
		if !ok {
			match, ok = m.find(v, v.TextToCursor())
		}
		fail(ok, "regex")
		if ok {
			found = match
		}
	}
	if m.Gone != nil {
		fail(!v.Contains(*m.Gone), "gone")
	}
	if m.Cursor != nil {
		cur := v.Terminal.Cursor()
		row, col := m.Cursor.Row, m.Cursor.Col
		fail((row == Anywhere || row == cur.Row) && (col == Anywhere || col == cur.Col), "cursor")
	}
	if m.Changed != nil {
		hash := Hash(v.Text())
		fail(hash != *m.Changed && hash[:olderHash] != *m.Changed, "changed")
	}
	return found, unmet
}

// olderHash is how much of a hash an older den gave, to a wait that goes on
// with this one.
const olderHash = 16

// Check matches conditions on one screen.
func Check(t *vt.Terminal, c Conditions) (found string, unmet []string, err error) {
	m, err := NewMatcher(c)
	if err != nil {
		return "", nil, err
	}
	found, unmet = m.Match(&View{Terminal: t}, nil)
	return found, unmet, nil
}
