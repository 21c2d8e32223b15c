package permission

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
)

// use is one thing that a request would do. A request is allowed if each of
// its uses is.
type use struct {
	kind Kind
	what string // for people: "edit src/a.go"
	// One of these says what it is about; none for tools that den knows
	// nothing of.
	file    *target
	command *commandline.Command
	host    string
	// problem is why it is not known what happens, or "". No rule allows it.
	problem string
	// place is that only where it happens is not known, or is elsewhere: what
	// runs there are other uses.
	place bool
	// forbidOnly is that other uses decide whether it is allowed: rules can
	// only ask or deny.
	forbidOnly bool
	// args are the files that a command's words, or the texts of a tool's
	// input, may stand for, parts those that may be named within a word, globs
	// the words that a program may expand.
	args, parts []target
	globs       []string
	unknownArgs bool
	// maybe are the files that words may stand for which are not known before
	// it runs, unknown those words of which nothing is known.
	maybe   []target
	unknown []commandline.Word
	// elsewhere is that a command may not run in the agent's directory itself.
	elsewhere bool
}

// uses takes a request apart.
func (p directories) uses(r Request) []use {
	var all []use
	if r.Command != "" || r.Kind == Execute {
		all = p.commandUses(r)
	}
	for _, name := range r.Paths {
		kind := Edit // what is not known to read may write
		if r.Kind == Read {
			kind = Read
		}
		u := p.fileUse(kind, p.base(r), name)
		u.forbidOnly = r.Command != "" // a file that the command names: the command is allowed or not
		all = append(all, u)
	}
	if r.URL != "" || r.Kind == Fetch {
		all = append(all, fetchUse(r.URL))
	}
	switch r.Kind {
	case Read, Edit:
		if len(r.Paths) == 0 {
			all = append(all, use{kind: r.Kind, what: fmt.Sprintf("%s files", r.Kind), problem: "the agent does not say which files"})
		}
	case Think:
		all = append(all, use{kind: Think, what: "think"})
	case Question:
		all = append(all, use{kind: Question, what: "ask a person"})
	case Execute, Fetch:
	default:
		all = append(all, p.toolUse(r))
	}
	return all
}

// maxTexts bounds how many texts of a tool's input are looked at.
const maxTexts = 1000

// toolUse is the use of a tool that den does not know. Every text in its input
// may stand for a file.
func (p directories) toolUse(r Request) use {
	u := use{kind: Other, what: fmt.Sprintf("use the tool '%s'", r.Tool)}
	var value any
	if json.Unmarshal(r.Input, &value) != nil {
		return u // it has none
	}
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case string:
			if len(u.args) == maxTexts {
				u.problem = "its input has too many texts to look at"
				return
			}
			u.args = append(u.args, p.resolve(p.base(r), strings.TrimPrefix(v, "file://")))
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(value)
	return u
}

// base is the directory that a request's relative paths are in.
func (p directories) base(r Request) string {
	if r.Dir == "" {
		return p.dir
	}
	return p.resolve(p.dir, r.Dir).real
}

func (p directories) fileUse(kind Kind, base, name string) use {
	t := p.resolve(base, name)
	u := use{kind: kind, what: fmt.Sprintf("%s %s", kind, name), file: &t}
	if !t.known() {
		u.problem = fmt.Sprintf("it is not known which file '%s' is", name)
	}
	return u
}

func fetchUse(address string) use {
	u := use{kind: Fetch, what: "reach the network"}
	parsed, err := url.Parse(address)
	switch {
	case address == "":
	case err != nil || parsed.Hostname() == "":
		u.problem = "the address cannot be read"
	default:
		u.host = strings.ToLower(parsed.Hostname())
		u.what = "reach " + u.host
	}
	return u
}

// commandUses takes a line of shell apart: its commands, and the files that it
// is redirected to.
func (p directories) commandUses(r Request) []use {
	line := commandline.Parse(r.Command)
	base := p.base(r)
	var all []use
	problem := func(format string, args ...any) {
		all = append(all, use{kind: Execute, what: "run the command", problem: fmt.Sprintf(format, args...)})
	}
	misplaced := func(format string, args ...any) {
		problem(format, args...)
		all[len(all)-1].place = true
	}
	for _, text := range line.Problems {
		problem("%s", text)
	}
	if len(line.Problems) > 0 && len(line.Commands) == 0 {
		all[0].args = p.piecesOf(base, r.Command)
	}
	if len(line.Commands) == 0 && len(line.Files) == 0 && len(line.Problems) == 0 {
		problem("the agent does not say which command")
	}
	if _, ok := inside(p.dir, base); !ok {
		misplaced("it runs in '%s', outside the agent's directory", r.Dir)
	}
	bases := []string{base}
	if moves := directoryChanges(line.Commands); len(moves) > 0 {
		to, known := destination(moves)
		if !known {
			misplaced("it is not known which directory it changes to")
			p.adrift = true
		}
		if dir := p.resolve(base, to).real; dir != base {
			bases = append(bases, dir)
		}
		if r.Dir == "" && (!known || len(bases) > 1) && slices.ContainsFunc(moves, func(c commandline.Command) bool { return !c.Inner }) {
			misplaced("its shell may stay in another directory, and the agent does not tell in which one it runs the next command; write (cd DIR && …)")
		}
	}
	p.dotted = slices.ContainsFunc(line.Commands, func(c commandline.Command) bool {
		return slices.Contains([]string{"shopt", "setopt", "set", "emulate"}, c.Name().Text)
	})
	p.opens = slices.ContainsFunc(line.Files, func(f commandline.File) bool { return f.Path != null && !isOpenFile(f.Path) })
	p.loose = len(line.Problems) > 0 || len(bases) > 1 || p.adrift || setsVariables(line.Commands) || strings.ContainsAny(base, " \t\n*?[")
	for _, c := range line.Commands {
		all = append(all, p.commandUse(c, bases, false)...)
	}
	for _, f := range line.Files {
		all = append(all, p.redirection(f, bases)...)
	}
	return all
}

// piecesOf returns the files that a line may name of which nothing is known.
func (p directories) piecesOf(base, line string) []target {
	var all []target
	for piece := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>()`\"'=,:{}$", r) }) {
		if len(all) == maxTexts {
			break
		}
		all = append(all, p.resolve(base, piece))
	}
	return all
}

// commandUse returns the uses of a command and of those that it runs.
func (p directories) commandUse(c commandline.Command, bases []string, forbidOnly bool) []use {
	u := use{kind: Execute, what: fmt.Sprintf("run '%s'", c), command: &c, forbidOnly: forbidOnly || c.How == commandline.Wraps,
		elsewhere: len(bases) > 1 || bases[0] != p.dir}
	for _, w := range c.Args() {
		for _, base := range bases {
			p.argument(&u, base, w)
		}
		if p.unplaced(w.Text) {
			u.unknown = append(u.unknown, w)
		}
	}
	all := []use{u}
	for _, inner := range c.Runs {
		all = append(all, p.commandUse(inner, bases, forbidOnly || c.How == commandline.Escalates)...)
	}
	return all
}

// unplaced reports a word that may name a file of which it is not known where it
// is: an open file has no place, and a name is relative to a directory.
func (p directories) unplaced(name string) bool {
	return p.adrift && !path.IsAbs(name) || p.opens && isOpenFile(name[strings.LastIndexByte(name, '=')+1:]) // of=/dev/stdin
}

// isOpenFile reports a name for what a process has open, which is opened once
// more by it.
func isOpenFile(name string) bool {
	name = path.Clean(name)
	return slices.Contains([]string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}, name) || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/")
}

const null = "/dev/null" // holds nothing

func (p directories) redirection(f commandline.File, bases []string) []use {
	kind := Read
	if f.Write {
		kind = Edit
	}
	switch {
	case f.Dynamic:
		u := use{kind: kind, what: fmt.Sprintf("%s %s", kind, f.Path), problem: "the file of a redirection is not known before it runs"}
		for _, base := range bases {
			p.argument(&u, base, commandline.Word{Text: f.Path, Dynamic: true, Unknown: f.Unknown})
		}
		return []use{u}
	case f.Path == null:
		return nil
	}
	var all []use
	for _, base := range bases {
		u := p.fileUse(kind, base, f.Path)
		if p.unplaced(f.Path) {
			u.unknown = []commandline.Word{{Text: f.Path}}
		}
		all = append(all, u)
	}
	return all
}

// setsVariables reports whether a command in a line sets a variable.
func setsVariables(commands []commandline.Command) bool {
	return slices.ContainsFunc(commands, func(c commandline.Command) bool { return len(c.Assigns()) > 0 || setsVariables(c.Runs) })
}

// directoryChanges returns the commands that change the shell's directory.
func directoryChanges(commands []commandline.Command) []commandline.Command {
	var all []commandline.Command
	for _, c := range commands {
		if slices.Contains([]string{"cd", "pushd", "popd"}, c.Name().Text) {
			all = append(all, c)
		}
		for _, inner := range directoryChanges(c.Runs) {
			inner.Inner = inner.Inner || c.Inner
			all = append(all, inner)
		}
	}
	return all
}

// destination returns the directory that a line changes to, if it does so once
// and says where. Shells take ".." off the text of a path before they follow
// its links, and programs afterwards.
func destination(moves []commandline.Command) (dir string, known bool) {
	args := moves[0].Args()
	if len(moves) != 1 || len(args) != 1 || args[0].Dynamic || args[0].Text == "" || strings.ContainsAny(args[0].Text[:1], "-+") {
		return "", false
	}
	return args[0].Text, !slices.Contains(strings.Split(args[0].Text, "/"), "..")
}

// maxParts bounds the names that are looked for in one word. What has more is
// taken for not known.
const maxParts = 24

// argument notes the files that a word of a command may name: the whole of it
// and the value of an option in u.args; and in u.parts those that stand within
// it, as programs take words apart: HEAD:.env, -f.env, a,.env, @.env.
func (p directories) argument(u *use, base string, w commandline.Word) {
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
func (p directories) plainHome(w commandline.Word) bool {
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
