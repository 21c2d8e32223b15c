package permission

import (
	"path/filepath"
	"strings"

	"den/internal/agent/permission/commandline"
)

const (
	maxWild  = 3    // names with globs in one word that are looked for on disk
	maxFound = 1000 // files that one word may stand for
)

// stands returns the files that a dynamic word may stand for: those that a glob
// finds now, or, where the beginning is a variable's, all that end as the word
// does. It is false where nothing is known of them.
func (p directories) stands(base, text string, unknown bool) (files []target, known bool) {
	switch {
	case text == commandline.Pipe:
		return nil, true
	case unknown, strings.Contains(text, commandline.Hole) && p.loose:
		return nil, false
	}
	before, after := "", text
	if at := strings.LastIndex(text, commandline.Hole); at >= 0 {
		before, _, _ = strings.Cut(text, commandline.Hole)
		after = text[at+len(commandline.Hole):]
	} else if rest, ok := expandsTo(text, p.home); ok {
		after = rest
	}
	names := plainGlobs(after)
	wild := 0
	for i, name := range names {
		if name == "**" || wild == maxWild { // any number of directories
			return p.ending(base, before, text, names[i+1:])
		}
		if strings.ContainsAny(name, "*?[") {
			wild++
		}
	}
	if after != text {
		if names[0] == "" {
			names = names[1:]
		} else {
			names[0] = "*" + names[0] // $x.go
		}
		return p.ending(base, before, text, names)
	}
	found, err := filepath.Glob(p.globbed(base, text, names))
	if err != nil || len(found) > maxFound {
		return nil, false
	}
	files = append(p.beginning(base, before), p.resolve(base, text)) // as it stays where nothing is found
	for _, file := range found {
		if !p.dotted && isHidden(file, names) {
			continue
		}
		t := p.resolve("/", file)
		t.given = text
		files = append(files, t)
	}
	if p.adrift {
		files = append(files, target{given: text, tail: names})
	}
	return files, true
}

// isHidden reports a file that a glob finds here and shells do not, unless they
// are told to: a star stands for no dot at the beginning of a name.
func isHidden(file string, globs []string) bool {
	names := strings.Split(file, "/")
	for i := 1; i <= min(len(names), len(globs)); i++ {
		if strings.HasPrefix(names[len(names)-i], ".") && !strings.HasPrefix(globs[len(globs)-i], ".") {
			return true
		}
	}
	return false
}

// expandsTo returns what follows a home directory or a program's name that a
// shell puts in the place of '~name' and '=name'. The user's own '~' is known.
func expandsTo(text, home string) (rest string, ok bool) {
	if !strings.HasPrefix(text, "~") && !strings.HasPrefix(text, "=") || home != "" && (text == "~" || strings.HasPrefix(text, "~/")) {
		return "", false
	}
	at := strings.IndexByte(text, '/')
	if at < 0 {
		return "", true
	}
	return text[at:], true
}

// beginning is the directory that a word begins with, before what is not known.
func (p directories) beginning(base, text string) []target {
	dir, _ := filepath.Split(text)
	if dir == "" {
		return nil
	}
	return []target{p.resolve(base, dir)}
}

// ending is every file that a word may stand for of which its beginning and the
// last names are known.
func (p directories) ending(base, before, text string, names []string) (files []target, known bool) {
	for len(names) > 1 && strings.Trim(names[0], "*") == "" {
		names = names[1:] // one more directory that is not known
	}
	if len(names) == 0 || strings.Trim(names[len(names)-1], "*") == "" {
		return nil, false
	}
	return append(p.beginning(base, before), target{given: text, tail: names}), true
}

func (p directories) globbed(base, text string, names []string) string {
	pattern := strings.Join(names, "/")
	switch {
	case strings.HasPrefix(text, "~/"):
		return quotePath(p.home) + strings.TrimPrefix(pattern, "~")
	case strings.HasPrefix(text, "/"):
		return pattern
	}
	return quotePath(base) + "/" + pattern
}

// plainGlobs splits a path of globs at its slashes, and writes '?' for classes,
// whose meaning depends on the shell and the locale.
func plainGlobs(text string) []string {
	var names []string
	for name := range strings.SplitSeq(text, "/") {
		var b strings.Builder
		for i := 0; i < len(name); i++ {
			end := -1
			if name[i] == '[' && i+2 <= len(name) {
				end = strings.LastIndexByte(name[i+2:], ']')
			}
			switch {
			case end >= 0: // up to the last ']', as classes may be within classes
				b.WriteString(map[bool]string{true: "?", false: "*"}[!strings.ContainsAny(name[i+1:i+2+end], "[]*?")])
				i += 2 + end
			case name[i] == '[' || name[i] == '\\':
				b.WriteString(`\` + name[i:i+1])
			default:
				b.WriteByte(name[i])
			}
		}
		names = append(names, b.String())
	}
	return names
}
