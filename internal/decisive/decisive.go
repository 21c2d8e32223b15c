// Package decisive knows the files that decide what runs or what is allowed: by
// their names, and because a workspace reads them.
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

// literal are the rows by their first name, patterned those that begin with a
// pattern.
var literal, patterned = func() (map[string][]row, []row) {
	literal, patterned := map[string][]row{}, []row(nil)
	for _, g := range Groups {
		for _, name := range g.Names {
			r := row{name: name, reader: g.Reader, names: strings.Split(fold(name), "/")}
			if strings.Contains(r.names[0], "*") {
				patterned = append(patterned, r)
			} else {
				literal[r.names[0]] = append(literal[r.names[0]], r)
			}
		}
	}
	return literal, patterned
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
