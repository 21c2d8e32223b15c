package permission

import (
	"path"
	"strings"

	"den/internal/agent/permission/commandline"
)

// maxParts bounds the names that are looked for in one word. What has more is
// taken for not known.
const maxParts = 24

// argument notes the files that a word of a command may name: the whole of it
// and the value of an option in u.args; and in u.parts those that stand within
// it, as programs take words apart: HEAD:.env, -f.env, a,.env, @.env.
func (p places) argument(u *use, base string, w commandline.Word) {
	if u.command != nil && takesCode(u.command) {
		p.code(u, base, w)
	}
	if w.Dynamic && !p.plainHome(w) {
		u.unknownArgs = true
		files, known := p.stands(base, w.Text, w.Unknown)
		u.maybe = append(u.maybe, files...)
		if !known {
			u.unknown = append(u.unknown, w)
		}
		return
	}
	text := w.Text
	u.args = append(u.args, p.resolve(base, text))
	if _, value, ok := strings.Cut(text, "="); ok && value != "" {
		u.args = append(u.args, p.resolve(base, value))
	}
	names, all := namesWithin(text)
	u.unknownArgs = u.unknownArgs || !all
	for _, name := range names {
		u.parts = append(u.parts, p.resolve(base, name))
	}
	if strings.ContainsAny(text, "*?[") {
		u.globs = append(append(u.globs, text), names...)
	}
}

// plainHome reports a word that is dynamic only because it begins with the home
// directory of the agent's user, which is known.
func (p places) plainHome(w commandline.Word) bool {
	return p.home != "" && !p.loose && !w.Unknown && strings.HasPrefix(w.Text, "~/") && !strings.Contains(w.Text, commandline.Hole) && !strings.ContainsAny(w.Text, `*?[\{<`)
}

// separators are what programs put between names in one word.
const separators = ":=,@"

// namesWithin returns the parts of a word that may be names of files. It is
// false where there are too many.
func namesWithin(word string) (names []string, all bool) {
	add := func(name string) {
		if name != "" && name != word {
			names = append(names, name)
		}
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' { // -fNAME, and a few letters before
		for i := 2; i < min(len(word), 6); i++ {
			add(word[i:])
		}
	}
	for rest := word; len(names) < maxParts; {
		at := strings.IndexAny(rest, separators)
		if at < 0 {
			return names, true
		}
		add(rest[:at])
		rest = rest[at+1:]
		add(rest)
		// The pathspecs of git: ':/name', ':!name', ':(top)name'.
		add(strings.TrimLeft(rest, "!^"))
		add(strings.TrimLeft(rest, "!^/"))
		if _, name, ok := strings.Cut(rest, ")"); ok {
			add(name)
		}
	}
	return names, false
}

// mayGlob reports whether a word that a program may expand itself, as find and
// git do, matches a name in a pattern.
func (p pathPattern) mayGlob(word string) bool {
	for piece := range strings.SplitSeq(strings.ToLower(word), "/") {
		for _, name := range p.names {
			if ok, err := path.Match(piece, strings.ToLower(name)); ok && err == nil {
				return true
			}
		}
	}
	return false
}
