package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"den/internal/screen"
)

// Screen is a screen that is expected.
type Screen struct {
	Rows []Row `json:"rows"`
	// Styles, when not nil, are all parts of the screen that do not look plain:
	// see StylesOf.
	Styles []string `json:"styles,omitempty"`
	// Picture, when not "", is the PNG that the screen must look like. Rows are
	// compared only if there are some.
	Picture string `json:"picture,omitempty"`
	// Tolerance is how many of its pixels may differ.
	Tolerance Tolerance `json:"tolerance,omitempty"`
}

// Row is one row of an expected screen: a text, anything, or what a regular
// expression matches as a whole.
type Row struct {
	Text  string
	Any   bool
	Regex string // or ""
	re    *regexp.Regexp
}

// UnmarshalJSON reads an array of rows, or an object with rows, styles and a picture.
func (s *Screen) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("[")) {
		return json.Unmarshal(raw, &s.Rows)
	}
	type plain Screen // without this method
	return strictly(raw, (*plain)(s))
}

// MarshalJSON writes what UnmarshalJSON reads.
func (s Screen) MarshalJSON() ([]byte, error) {
	rows := s.Rows
	if rows == nil && !s.pictureAlone() {
		rows = []Row{}
	}
	if s.Styles == nil && s.Picture == "" {
		return marshal(rows)
	}
	return marshal(struct {
		Rows      []Row     `json:"rows,omitzero"`
		Styles    []string  `json:"styles,omitzero"`
		Picture   string    `json:"picture,omitempty"`
		Tolerance Tolerance `json:"tolerance,omitempty"`
	}{rows, s.Styles, s.Picture, s.Tolerance})
}

// pictureAlone reports that the text is not compared.
func (s *Screen) pictureAlone() bool { return s.Rows == nil && s.Picture != "" }

// UnmarshalJSON reads "text", null or {"regex":"R"}.
func (r *Row) UnmarshalJSON(raw []byte) error {
	switch {
	case bytes.Equal(raw, []byte("null")):
		*r = Row{Any: true}
		return nil
	case bytes.HasPrefix(raw, []byte(`"`)):
		return json.Unmarshal(raw, &r.Text)
	}
	var pattern struct {
		Regex string `json:"regex"`
	}
	if err := strictly(raw, &pattern); err != nil {
		return err
	}
	if pattern.Regex == "" {
		return errors.New(`a row is "text", null for any, or {"regex":"R"}`)
	}
	r.Regex = pattern.Regex
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (r Row) MarshalJSON() ([]byte, error) {
	switch {
	case r.Any:
		return []byte("null"), nil
	case r.Regex != "":
		return marshal(map[string]string{"regex": r.Regex})
	}
	return marshal(r.Text)
}

func (s *Screen) check() error {
	switch {
	case s.Picture != "" && !strings.HasSuffix(s.Picture, ".png"):
		return fmt.Errorf("'picture' is the name of a PNG, and '%s' does not end with .png", s.Picture)
	case s.Tolerance > 0 && s.Picture == "":
		return errors.New("'tolerance' belongs to picture")
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		if strings.ContainsAny(r.Text, "\n\r") {
			return fmt.Errorf("row %d is more than one", i)
		}
		if r.Regex == "" {
			continue
		}
		var err error
		if r.re, err = regexp.Compile(r.pattern()); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// pattern matches the whole row.
func (r *Row) pattern() string {
	switch {
	case r.Any:
		return `[^\n]*`
	case r.Regex != "":
		return "^(?m:" + r.Regex + ")$"
	}
	return regexp.QuoteMeta(strings.TrimRight(r.Text, " "))
}

func (r *Row) matches(text string) bool {
	switch {
	case r.Any:
		return true
	case r.re != nil:
		return r.re.MatchString(text)
	}
	return strings.TrimRight(r.Text, " ") == text
}

// expression matches the canonical text of the screen. That has no empty rows at
// its end.
func (s *Screen) expression() string {
	rows := s.Rows
	for len(rows) > 0 && rows[len(rows)-1].isBlank() {
		rows = rows[:len(rows)-1]
	}
	must := len(rows) // those behind may be missing
	for must > 1 && rows[must-1].matches("") {
		must--
	}
	var b strings.Builder
	b.WriteString(`(?m)\A`)
	for i := range rows {
		switch p := rows[i].pattern(); {
		case i == 0:
			b.WriteString(p)
		case i < must:
			b.WriteString(`\n` + p)
		default:
			b.WriteString(`(?:\n` + p)
		}
	}
	if must < len(rows) {
		b.WriteString(strings.Repeat(")?", len(rows)-must))
	}
	b.WriteString(`\z`)
	return b.String()
}

// open reports whether the row may have more texts than one.
func (r *Row) open() bool { return r.Any || r.Regex != "" }

func (r *Row) isBlank() bool { return !r.Any && r.Regex == "" && strings.TrimRight(r.Text, " ") == "" }

func (r *Row) String() string {
	switch {
	case r.Any:
		return "(any)"
	case r.Regex != "":
		return "/" + r.Regex + "/"
	}
	return strings.TrimRight(r.Text, " ")
}

// A DiffRow is one row of two screens beside each other.
type DiffRow struct {
	Row  int    `json:"row"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Same bool   `json:"same,omitempty"`
	// Style says that the two are of the looks of the screen, not of its text.
	Style bool `json:"style,omitempty"`
}

// Compare returns both screens row by row, or nil if the text and the styles are
// the expected ones.
func (s *Screen) Compare(shot *screen.Snapshot) []DiffRow {
	var all []DiffRow
	differ := false
	got := strings.Split(shot.Text, "\n")
	if s.pictureAlone() {
		got = nil
	}
	for i := range max(len(got), len(s.Rows)) {
		d := DiffRow{Row: i}
		var want Row
		if i < len(s.Rows) {
			want = s.Rows[i]
		}
		if i < len(got) {
			d.Got = got[i]
		}
		d.Want, d.Same = want.String(), want.matches(d.Got)
		differ = differ || !d.Same
		all = append(all, d)
	}
	if s.Styles != nil {
		got := s.compared(StylesOf(shot))
		want := s.compared(s.Styles)
		for _, d := range styleDiff(want, got) {
			differ = true
			all = append(all, d)
		}
	}
	if !differ {
		return nil
	}
	return all
}

// compared leaves out the styles of rows that may be anything.
func (s *Screen) compared(styles []string) []string {
	return slices.DeleteFunc(slices.Clone(styles), func(style string) bool {
		var row int
		_, err := fmt.Sscanf(style, "%d", &row)
		return err == nil && row >= 0 && row < len(s.Rows) && s.Rows[row].Any
	})
}

func styleDiff(want, got []string) (diff []DiffRow) {
	for _, w := range want {
		if !slices.Contains(got, w) {
			diff = append(diff, DiffRow{Row: -1, Want: w, Style: true})
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			diff = append(diff, DiffRow{Row: -1, Got: g, Style: true})
		}
	}
	return diff
}

// ScreenOf is the expectation of exactly this screen.
func ScreenOf(shot *screen.Snapshot, styles bool) *Screen {
	s := &Screen{Rows: []Row{}}
	if shot.Text != "" {
		for line := range strings.SplitSeq(shot.Text, "\n") {
			s.Rows = append(s.Rows, Row{Text: line})
		}
	}
	if styles {
		s.Styles = StylesOf(shot)
	}
	return s
}

// Updated is the expectation of this screen. What s leaves open of a row stays
// open, if the screen has it.
func (s *Screen) Updated(shot *screen.Snapshot, styles bool) *Screen {
	n := ScreenOf(shot, styles || s.Styles != nil)
	n.Picture, n.Tolerance = s.Picture, s.Tolerance
	if s.pictureAlone() {
		n.Rows = nil
	}
	for i := range s.Rows {
		old := s.Rows[i]
		if !old.open() {
			continue
		}
		if i >= len(n.Rows) && !old.matches("") || i < len(n.Rows) && !old.matches(n.Rows[i].Text) {
			continue
		}
		for len(n.Rows) <= i {
			n.Rows = append(n.Rows, Row{})
		}
		n.Rows[i] = old
	}
	return n
}

// StylesOf tells how a screen looks, one part a line: "ROW FIRST-LAST WORDS".
// Plain text is left out, and so is the cursor.
func StylesOf(shot *screen.Snapshot) []string {
	all := []string{}
	for y := range shot.Lines {
		for _, run := range shot.Lines[y].Runs {
			if words := styleWords(run.Style); words != "" {
				all = append(all, fmt.Sprintf("%d %d-%d %s", y, run.Col, run.Col+run.Width-1, words))
			}
		}
	}
	return all
}

func styleWords(s screen.Style) string {
	var words []string
	for _, w := range []struct {
		word string
		set  bool
	}{
		{"bold", s.Bold}, {"dim", s.Dim}, {"italic", s.Italic}, {"blink", s.Blink}, {"inverse", s.Inverse},
		{"hidden", s.Hidden}, {"strike", s.Strike}, {"overline", s.Overline},
	} {
		if w.set {
			words = append(words, w.word)
		}
	}
	for _, w := range []struct{ key, value string }{
		{"underline", s.Underline}, {"underline-color", s.UnderlineColor}, {"fg", s.FG}, {"bg", s.BG},
	} {
		if w.value != "" {
			words = append(words, w.key+"="+w.value)
		}
	}
	return strings.Join(words, " ")
}
