package permission

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
	"den/internal/place/decisive"
)

// glob is a pattern of text in which a star stands for any characters.
type glob []string // the literal parts between the stars

// globOf reads a pattern that ignores case.
func globOf(s string) glob { return strings.Split(strings.ToLower(s), "*") }

func (g glob) literal() bool { return len(g) == 1 }

// any reports that the glob is a star alone.
func (g glob) any() bool { return len(g) > 1 && strings.Join(g, "") == "" }

func (g glob) match(s string) bool {
	if g.literal() {
		return s == g[0]
	}
	if !strings.HasPrefix(s, g[0]) {
		return false
	}
	s = s[len(g[0]):]
	for _, part := range g[1 : len(g)-1] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return strings.HasSuffix(s, g[len(g)-1])
}

// fold returns the glob for text in lower case.
func (g glob) fold() glob {
	lower := make(glob, len(g))
	for i, part := range g {
		lower[i] = strings.ToLower(part)
	}
	return lower
}

// commandPattern is a pattern of a simple command: a glob for each word. A
// star alone stands for one word, and as the last word for any number.
type commandPattern []glob

var errOpenQuote = errors.New("a quote is not closed")

// parseCommandPattern reads words between blanks. Within single quotes and
// after a backslash characters stand for themselves.
func parseCommandPattern(s string) (commandPattern, error) {
	var (
		all     commandPattern
		word    glob
		literal strings.Builder
		inWord  bool
	)
	endWord := func() {
		if inWord {
			all = append(all, append(word, literal.String()))
		}
		word, inWord = nil, false
		literal.Reset()
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n':
			endWord()
			continue
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, errOpenQuote
			}
			literal.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case '\\':
			if i++; i < len(s) {
				literal.WriteByte(s[i])
			}
		case '*':
			word = append(word, literal.String())
			literal.Reset()
		default:
			literal.WriteByte(c)
		}
		inWord = true
	}
	endWord()
	return all, nil
}

// quotePattern returns the pattern that matches these words and no others.
func quotePattern(words []commandline.Word) string {
	var all []string
	for _, w := range words {
		text := w.Text
		if text == "" || strings.ContainsAny(text, " \t\n*\\'") {
			text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// certainty is whether a rule matches. Maybe is that it depends on what is not
// known.
type certainty int

const (
	no certainty = iota
	maybe
	yes
)

// match compares a pattern with words, which may be dynamic. fold ignores
// case.
func (p commandPattern) match(words []commandline.Word, fold bool) certainty {
	for i, g := range p {
		if g.any() && i == len(p)-1 {
			return yes
		}
		if len(words) == 0 {
			return no
		}
		text := words[0].Text
		if fold {
			g, text = g.fold(), strings.ToLower(text)
		}
		switch {
		case words[0].Dynamic:
			return maybe
		case !g.match(text):
			return no
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return yes
	}
	if allDynamic(words) {
		return maybe // they may expand to nothing
	}
	return no
}

func allDynamic(words []commandline.Word) bool {
	return !slices.ContainsFunc(words, func(w commandline.Word) bool { return !w.Dynamic })
}

const maxLinks = 64 // on the way to a file; more are a loop

// target is a file that a request names.
type target struct {
	given string
	// lexical is absolute, with ".." removed as text; real is where the system
	// finds the file, with every symbolic link followed. Both are "" where it
	// is not known.
	lexical, real string
	// tail is how the path ends, in globs, of a file whose directory is not
	// known; or nil.
	tail []string
}

func (t target) known() bool { return t.real != "" }

// directories knows the directories that paths are relative to.
type directories struct {
	dir      string // the agent's, with links followed
	home     string // of its user, or ""
	readlink func(string) (string, error)
	exists   func(string) bool
	// repository is that dir has a '.git'. Only then does git not take dir
	// itself for a repository, whose configuration can run code.
	repository bool
	askEdits   bool // see Settings
	// Of the line that is read: loose is that its variables may have any value,
	// adrift that it is not known where its commands run, opens that it opens
	// files by redirections, dotted that globs may find hidden files.
	loose, adrift, opens, dotted bool
}

func newDirectories(s Settings) directories {
	if s.Readlink == nil {
		s.Readlink = os.Readlink
	}
	if s.Exists == nil {
		s.Exists = exists
	}
	p := directories{home: s.Home, readlink: s.Readlink, exists: s.Exists, askEdits: s.AskEdits}
	p.dir = p.follow(s.Dir)
	p.repository = s.Exists(path.Join(p.dir, ".git"))
	return p
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// resolve finds the file that name stands for in base.
func (p directories) resolve(base, name string) target {
	t := target{given: name}
	if name == "" || strings.ContainsRune(name, 0) {
		return t
	}
	abs, ok := p.absolute(base, name)
	if !ok {
		return t
	}
	t.lexical, t.real = filepath.Clean(abs), p.follow(abs)
	return t
}

func (p directories) absolute(base, name string) (string, bool) {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		return p.home + "/" + name[1:], p.home != ""
	case strings.HasPrefix(name, "~"):
		return "", false // somebody else's home directory
	case strings.HasPrefix(name, "/"):
		return name, true
	}
	return base + "/" + name, true
}

// follow walks a path as the system does: a link is followed before the ".."
// behind it. What is not there yet is taken as it is written. It returns ""
// where there are too many links.
func (p directories) follow(abs string) string {
	rest := strings.Split(abs, "/")
	at, links := "/", 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		to, err := p.readlink(next)
		if err != nil {
			at = next // no link, or nothing there
			continue
		}
		if links++; links > maxLinks {
			return ""
		}
		if strings.HasPrefix(to, "/") {
			at = "/"
		}
		rest = slices.Concat(strings.Split(to, "/"), rest)
	}
	return at
}

// inside returns the path of a file below dir, relative to it.
func inside(dir, file string) (rel string, ok bool) {
	if file == dir {
		return ".", dir != ""
	}
	if dir != "/" {
		dir += "/"
	}
	return strings.CutPrefix(file, dir)
}

// pathPattern matches files: "**" stands for any number of directories, and
// within a name "*", "?" and "[…]" are as in a shell.
type pathPattern struct {
	base  string   // the directory that it is relative to
	names []string // of the pattern, one for each directory
	// lower are base and names in lower case.
	lowerBase string
	lower     []string
}

func (p directories) parsePathPattern(s string) (pathPattern, error) {
	pattern := pathPattern{base: p.dir}
	rel := s
	switch {
	case s == "~" || strings.HasPrefix(s, "~/"):
		if p.home == "" {
			return pattern, fmt.Errorf("the home directory is not known")
		}
		pattern.base, rel = p.follow(p.home), s[1:]
	case strings.HasPrefix(s, "/"):
		pattern.base = "/"
	}
	for _, name := range strings.Split(rel, "/") {
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			return pattern, fmt.Errorf("it has '..'; write an absolute path")
		}
		if _, err := path.Match(name, ""); err != nil {
			return pattern, err
		}
		pattern.names = append(pattern.names, name)
		pattern.lower = append(pattern.lower, strings.ToLower(name))
	}
	pattern.lowerBase = strings.ToLower(pattern.base)
	return pattern, nil
}

// matchExactly is for rules that allow: where the file really is, in exact
// case.
func (p pathPattern) matchExactly(t target) bool {
	rel, ok := inside(p.base, t.real)
	return ok && matchNames(p.names, split(rel))
}

// matchGenerously is for rules that forbid: the file as it is written and
// where it is, in any case, and everything below a directory that matches.
func (p pathPattern) matchGenerously(t target) bool {
	if t.tail != nil {
		return decisive.Ends(path.Join(p.base, path.Join(p.names...)), t.tail)
	}
	for _, file := range []string{t.lexical, t.real} {
		rel, ok := inside(p.lowerBase, strings.ToLower(file))
		if !ok {
			continue
		}
		names := split(rel)
		for n := len(names); n >= 0; n-- {
			if matchNames(p.lower, names[:n]) {
				return true
			}
		}
	}
	return false
}

func split(rel string) []string {
	if rel == "." {
		return nil
	}
	return strings.Split(rel, "/")
}

// matchNames compares name by name. It keeps one place to go back to, the last
// "**", so its time is bounded by the product of the lengths.
func matchNames(pattern, names []string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(names) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, mark = p, n
			p++
		case p < len(pattern) && matchName(pattern[p], names[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func matchName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil // patterns were checked when they were parsed
}

// quotePath returns the pattern that matches one file only.
func quotePath(file string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(file)
}
