// Package decisive finds the files that decide what runs or what is allowed, by
// their names and because a workspace reads them.
package decisive

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// A File is one that a workspace is made of, or a directory of such.
type File struct {
	Path string `json:"path"` // absolute
	Role string `json:"role"` // what the workspace does with it
	// Shown is that its text runs or is obeyed, so that whoever decides whether
	// to trust the workspace should see it.
	Shown bool `json:"shown,omitempty"`
}

// A Set knows the files of one workspace besides those that are known by name.
type Set struct {
	own []ownFile
}

type ownFile struct {
	File
	names []string // folded: as it is written, and where it leads
}

// NewSet returns the set of a workspace's files. resolve returns where a path
// leads, or "".
func NewSet(own []File, resolve func(string) string) Set {
	s := Set{own: make([]ownFile, len(own))}
	for i, f := range own {
		s.own[i] = ownFile{File: f, names: []string{fold(f.Path)}}
		if real := resolve(f.Path); real != f.Path && real != "" {
			s.own[i].names = append(s.own[i].names, fold(real))
		}
	}
	return s
}

// A Reason says why a file decides something.
type Reason struct {
	Own   string   // the file's role in the workspace, or ""
	Names []string // that are known, of the table
	Why   string   // for people
}

// Decides reports whether a file decides what runs or what is allowed, and why.
// file is absolute and clean. Of a file in dir only the names below it count:
// who put an agent into '.config/nvim' knows what it edits.
func (s Set) Decides(dir, file string) (Reason, bool) {
	file = fold(file)
	for _, own := range s.own {
		if slices.ContainsFunc(own.names, func(name string) bool { return isBelow(name, file) }) {
			return Reason{Own: own.Role, Why: "the workspace reads it: " + own.Role}, true
		}
	}
	if base := fold(dir); isBelow(base, file) {
		file = file[len(base):]
	}
	rows := byName(file)
	if len(rows) == 0 {
		return Reason{}, false
	}
	return Reason{Names: namesOf(rows), Why: "taken by " + rows[0].reader}, true
}

// Ends reports whether a file may decide something whose path ends with these
// names, and whose beginning is not known. They may have globs.
func (s Set) Ends(tail []string) (Reason, bool) {
	for _, own := range s.own {
		if slices.ContainsFunc(own.names, func(name string) bool { return Ends(name, tail) }) {
			return Reason{Own: own.Role, Why: "the workspace reads it: " + own.Role}, true
		}
	}
	names := foldAll(tail)
	for at := range names {
		for _, r := range rows {
			// A glob before the last name stands for a directory, and these have dots.
			below := len(names)-at > len(r.names) && !strings.HasPrefix(r.name, ".") && !strings.Contains(r.name, "/")
			if len(names)-at >= len(r.names) && meetAll(r.names, names[at:]) && !below {
				return Reason{Names: []string{r.name}, Why: "taken by " + r.reader}, true
			}
		}
	}
	return Reason{}, false
}

// Holds reports whether a directory, once it is there, may have files in it that
// decide something because of its name or its place, and says why.
func (s Set) Holds(dir, file string) (why string, found bool) {
	file = fold(file)
	for _, own := range s.own {
		if slices.ContainsFunc(own.names, func(name string) bool { return isBelow(file, name) }) {
			return "the workspace reads it: " + own.Role, true
		}
	}
	if base := fold(dir); isBelow(base, file) {
		file = file[len(base):]
	}
	names := strings.Split(file, "/")
	for _, r := range rows {
		for n := 1; n < len(r.names) && n <= len(names); n++ {
			if (row{names: r.names[:n]}).matches(names[len(names)-n:]) {
				return "taken by " + r.reader, true
			}
		}
	}
	return "", false
}

// Ends reports whether a path may be, or be above, one that ends with these
// names, which may have globs.
func Ends(file string, tail []string) bool {
	names := strings.Split(strings.Trim(fold(file), "/"), "/")
	tail = foldAll(tail)
	for n := min(len(names), len(tail)); n > 0; n-- {
		if last := names[len(names)-n:]; meetAll(last, tail) {
			return true
		}
	}
	return false
}

func foldAll(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fold(name)
	}
	return all
}

// meetAll reports whether the first names of a path may be these.
func meetAll(names, path []string) bool {
	for i, name := range names {
		if !meet(name, path[i]) {
			return false
		}
	}
	return true
}

// meet reports whether one name may match both globs, of '*' and '?'.
func meet(a, b string) bool {
	reached := make([]bool, len(b)+1) // the rest of a meets b from here on
	for i := len(a); i >= 0; i-- {
		next := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i < len(a) && a[i] == '*':
				next[j] = reached[j] || j < len(b) && next[j+1]
			case j < len(b) && b[j] == '*':
				next[j] = next[j+1] || i < len(a) && reached[j]
			case i == len(a) || j == len(b):
				next[j] = i == len(a) && j == len(b)
			default:
				next[j] = (a[i] == b[j] || a[i] == '?' || b[j] == '?') && reached[j+1]
			}
		}
		reached = next
	}
	return reached[0]
}

// Find returns the first file of the workspace of which is says yes.
func (s Set) Find(is func(path string) bool) (File, bool) {
	for _, own := range s.own {
		if is(own.Path) {
			return own.File, true
		}
	}
	return File{}, false
}

// ByName returns all names of the table that a path has.
func ByName(file string) []string { return namesOf(byName(fold(file))) }

func namesOf(rows []row) []string {
	var all []string
	for _, r := range rows {
		all = append(all, r.name)
	}
	return all
}

// row is a name of the table, taken apart.
type row struct {
	name, reader string
	names        []string
}

// rows are all names of the table, literal those that begin with a plain name,
// by that name, patterned the others.
var rows, literal, patterned = func() (rows []row, literal map[string][]row, patterned []row) {
	literal = map[string][]row{}
	for _, g := range Groups {
		for _, name := range g.Names {
			r := row{name: name, reader: g.Reader, names: strings.Split(fold(name), "/")}
			rows = append(rows, r)
			if strings.Contains(r.names[0], "*") {
				patterned = append(patterned, r)
			} else {
				literal[r.names[0]] = append(literal[r.names[0]], r)
			}
		}
	}
	return rows, literal, patterned
}()

func byName(file string) []row {
	var known []row
	names := strings.Split(file, "/")
	for at, name := range names {
		for _, r := range literal[name] {
			if r.matches(names[at:]) {
				known = append(known, r)
			}
		}
		for _, r := range patterned {
			if r.matches(names[at:]) {
				known = append(known, r)
			}
		}
	}
	return known
}

func (r row) matches(names []string) bool {
	if len(names) < len(r.names) {
		return false
	}
	for i, pattern := range r.names {
		if ok, err := path.Match(pattern, names[i]); !ok || err != nil {
			return false // the patterns are constants, and a test parses them
		}
	}
	return true
}

// fold makes all names alike that some file system takes for the same: in other
// letters, or with characters that nobody sees.
func fold(file string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII:
			return unicode.ToLower(r)
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, file)
}

// isBelow reports whether a file is dir or below it.
func isBelow(dir, file string) bool {
	rest, ok := strings.CutPrefix(file, dir)
	return ok && dir != "" && (rest == "" || rest[0] == '/' || dir == "/")
}
