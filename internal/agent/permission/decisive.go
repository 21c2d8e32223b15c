package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"den/internal/place/decisive"
)

// decisiveFiles returns the set of files that decide what runs, as it is now.
func (p *Policy) decisiveFiles() (decisive.Set, error) {
	if p.settings.Workspace == nil {
		return decisive.Set{}, nil
	}
	own, err := p.settings.Workspace()
	if err != nil {
		return decisive.Set{}, err
	}
	dirs := map[string]string{} // where they lead: most files share some
	return decisive.NewSet(own, func(file string) string {
		dir, name := path.Split(file)
		if _, known := dirs[dir]; !known {
			dirs[dir] = p.dirs.follow(dir)
		}
		file = path.Join(dirs[dir], name)
		if _, err := p.dirs.readlink(file); err != nil {
			return file // no link, or nothing there
		}
		return p.dirs.follow(file)
	}), nil
}

// decisive says why a person is asked about a use that the rules or defaults
// would allow, "" if none has to be: it changes a file that decides what runs or
// what is allowed. A rule that allows holds for such a file only if it has its
// name, and for a file of the workspace never. files are those that it names.
func (p *Policy) decisive(u use, files []target, known func() (decisive.Set, error)) string {
	if why := p.opaque(u); why != "" {
		return why
	}
	if !p.dirs.mayChange(u) {
		files = nil
	}
	trees := p.dirs.trees(u)
	if len(files) == 0 && len(trees) == 0 {
		return ""
	}
	set, err := known()
	if err != nil {
		return fmt.Sprintf("it may change what runs or what is allowed: %v", err)
	}
	for _, t := range files {
		reason, found := p.dirs.decides(set, t)
		if found && (reason.Own != "" || !p.named(u, t, reason.Names)) {
			return fmt.Sprintf("'%s' decides what runs or what is allowed (%s)", t.given, reason.Why)
		}
	}
	for _, t := range trees {
		if why, found := set.Holds(p.dirs.dir, t.real); found && !p.named(u, t, nil) {
			return fmt.Sprintf("'%s' may hold what decides what runs or what is allowed (%s)", t.given, why)
		}
	}
	return ""
}

// opaque says why it is not known which files a use changes, "" if it is: then
// it may be one that decides.
func (p *Policy) opaque(u use) string {
	if u.command == nil {
		if u.kind == Edit && len(u.unknown) > 0 {
			return "it is not known before it runs which file it writes, and that may be one that decides what runs or what is allowed"
		}
		return ""
	}
	w, known := writerOf(*u.command)
	if !known {
		return ""
	}
	args := u.command.Args()
	if w.contents != nil && w.contents(p.dirs, args) && !p.spelled(u) {
		return "it is not known which files it makes, and one may be such that decides what runs or what is allowed"
	}
	for _, word := range w.files(args) {
		if slices.Contains(u.unknown, word) {
			return fmt.Sprintf("'%s' is not known before it runs, and may be a file that decides what runs or what is allowed", word.Text)
		}
	}
	return ""
}

// spelled reports whether a rule that allows a command has all of its words.
func (p *Policy) spelled(u use) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		return r.Outcome == Allow && r.allows(u, p.dirs) && !slices.ContainsFunc(r.command, func(g glob) bool { return !g.literal() })
	})
}

// trees are the directories that a command moves, links or removes with all that
// they hold. The one that it puts something into is none of them.
func (p directories) trees(u use) []target {
	if u.command == nil {
		return nil
	}
	w, _ := writerOf(*u.command)
	removes := slices.Contains(removers, strings.ToLower(path.Base(u.command.Name().Text)))
	if !w.moves && !removes {
		return nil
	}
	files := slices.Concat(u.args, u.maybe)
	into := ""
	if args := u.command.Args(); w.moves && len(args) > 0 && !hasOption(args, "T", "--no-target-directory") {
		into = args[len(args)-1].Text
		if hasOption(args, "t", "--target-directory") {
			into = valueOf(args, "-t", "--target-directory").Text
		}
	}
	var all []target
	if w.moves {
		all = p.placed(files)
	}
	for _, t := range files {
		if t.given != into || !p.exists(t.real) {
			all = append(all, t)
		}
	}
	return slices.DeleteFunc(all, func(t target) bool { return t.tail != nil || strings.HasPrefix(t.given, "-") })
}

// mayChange reports whether a use may change the files that it names.
func (p directories) mayChange(u use) bool {
	return u.kind != Read && (u.file != nil || u.command == nil || p.risk(u) != "" && !onlyReads(*u.command))
}

// names are the files that a use names, and those that it may make by that.
func (p directories) names(u use) []target {
	switch {
	case u.file != nil:
		return []target{*u.file}
	case u.command == nil:
		return slices.Concat(u.args, u.maybe)
	}
	files := slices.Concat(u.args, u.parts, u.maybe)
	if u.forbidOnly { // what it runs is judged by itself
		inner := map[string]bool{}
		for _, c := range u.command.Runs {
			for _, w := range c.Words {
				inner[w.Text] = true
			}
		}
		files = slices.DeleteFunc(files, func(t target) bool { return inner[t.given] })
	}
	files = append(files, p.renamed(u, files)...)
	if takesCode(u.command) {
		return append(files, p.placed(slices.Concat(u.args, u.maybe))...)
	}
	return append(files, p.placed(files)...)
}

// renamed are the files that a program makes of those that it is given, by
// another end of their names: an unpacker, and one that keeps the file as it was.
func (p directories) renamed(u use, files []target) []target {
	w, _ := writerOf(*u.command)
	suffix := ""
	if w.inPlace != "" {
		suffix = suffixOf(u.command.Args())
	}
	if !w.strips && suffix == "" {
		return nil
	}
	change := func(name string) string {
		if w.strips {
			return strings.TrimSuffix(name, path.Ext(name))
		}
		return name + suffix
	}
	var all []target
	for _, t := range files {
		if n := len(t.tail); n > 0 {
			all = append(all, target{given: t.given, tail: append(slices.Clone(t.tail[:n-1]), change(t.tail[n-1]))})
		} else if t.known() && !strings.HasPrefix(t.given, "-") {
			made := p.resolve("/", change(t.lexical))
			made.given = t.given
			all = append(all, made)
		}
	}
	return all
}

// atEnds is how many arguments from either end may be the directory that a
// command puts files into: 'cp a b DIR', 'cp -t DIR a b'.
const atEnds = 8

// placed are the files that a command makes which puts files into a directory:
// 'cp new/den.toml .' names neither.
func (p directories) placed(args []target) []target {
	dirs := args
	if len(args) > 2*atEnds {
		dirs = slices.Concat(args[:atEnds], args[len(args)-atEnds:])
	}
	var all []target
	for _, dir := range dirs {
		for _, file := range args {
			name := path.Base(file.lexical)
			if file.tail != nil {
				name = "" // the end of its name is judged
			}
			if dir.known() && file.lexical != dir.lexical && name != "/" && name != "" {
				all = append(all, p.resolve(dir.real, name))
			}
		}
	}
	return all
}

// decides asks for a file by all of its names.
func (p directories) decides(set decisive.Set, t target) (decisive.Reason, bool) {
	if t.tail != nil {
		return set.Ends(t.tail)
	}
	for _, file := range slices.Compact([]string{t.real, t.lexical}) {
		if reason, found := set.Decides(p.dir, file); found {
			return reason, true
		}
	}
	if p.inRepository(t.real) {
		return decisive.Reason{Names: []string{"HEAD"}, Why: "it is in a directory that git takes for a repository"}, true
	}
	if info := severalNames(t.real); info != nil {
		if own, found := set.Find(func(file string) bool { return hasFile(file, info) }); found {
			return decisive.Reason{Own: own.Role, Why: "the workspace reads it by another name: " + own.Role}, true
		}
	}
	return decisive.Reason{}, false
}

// inRepository reports whether a file is in a git directory without the name
// '.git', or in its hooks.
func (p directories) inRepository(file string) bool {
	dir := path.Dir(file)
	return p.exists(path.Join(dir, "HEAD")) || p.exists(path.Join(path.Dir(dir), "HEAD"))
}

// severalNames returns the file if it has more than one name, else nil.
func severalNames(file string) os.FileInfo {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink < 2 {
		return nil
	}
	return info
}

// maxWalk bounds how many files are compared with one that has several names.
const maxWalk = 10_000

// hasFile reports whether a file is at a path or below it. It says so too where
// it cannot tell.
func hasFile(top string, info os.FileInfo) bool {
	seen := 0
	err := filepath.WalkDir(top, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		other, err := os.Stat(file)
		if seen++; seen > maxWalk || err == nil && os.SameFile(info, other) {
			return errFound
		}
		return nil
	})
	return err != nil && !errors.Is(err, fs.ErrNotExist)
}

var errFound = errors.New("found")

// named reports whether a rule that allows the use has the names in it, so that
// whoever wrote it knew.
func (p *Policy) named(u use, t target, names []string) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool {
		if r.Outcome != Allow || !r.allows(u, p.dirs) {
			return false
		}
		if u.command != nil {
			return slices.ContainsFunc(r.command, func(g glob) bool { return g.literal() && g[0] == t.given })
		}
		return r.path != nil && r.path.has(names)
	})
}

// has reports whether a pattern has all of these names of the table, written
// out.
func (p pathPattern) has(names []string) bool {
	var literal []string
	for _, name := range p.names {
		if strings.ContainsAny(name, `*?[\`) {
			name = "\x00" // matches nothing
		}
		literal = append(literal, name)
	}
	known := decisive.ByName(strings.Join(literal, "/"))
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(known, n) })
}
