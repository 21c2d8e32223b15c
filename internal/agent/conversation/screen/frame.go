package screen

import (
	"regexp"
	"strings"
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
