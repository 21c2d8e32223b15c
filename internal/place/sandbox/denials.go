package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A form is a line as programs print it when a file is refused to them, or not
// found. Only whole lines are taken for one: a path that stands beside such
// words by chance must not be told.
type form struct {
	line   *regexp.Regexp // its groups are path, one of quoted, reason and verb
	writes *regexp.Regexp // verbs that write
	reads  *regexp.Regexp // verbs that read; others may do both
}

// The forms are compiled when they are first needed.
var forms = sync.OnceValue(func() []form {
	const (
		begin  = `^[^\w./~]*` // what a program that shows another's words puts before them
		path   = `(?:(?P<path>[^\s'"‘’:]+)|'(?P<quoted>[^']+)'|‘(?P<quoted>[^’]+)’|"(?P<quoted>[^"]+)")`
		reason = `(?P<reason>(?i:permission denied|operation not permitted|read-only file system|device or resource busy|no such file or directory))`
	)
	compile := func(line, writes, reads string) form {
		return form{regexp.MustCompile(line), regexp.MustCompile(`^(?:` + writes + `)$`), regexp.MustCompile(`^(?:` + reads + `)$`)}
	}
	return []form{
		// cat: PATH: reason; sh: 1: cannot create PATH: reason; touch: cannot touch 'PATH': reason;
		// fatal: Unable to create 'PATH': reason; error: could not lock config file PATH: reason
		compile(begin+`(?P<verb>[\w.+/-]+: (?:(?:line )?\d+: )?(?:(?:cannot|can't|could not|[Uu]nable to) [a-z ]+ )?)`+path+`(?: for reading)?: `+reason+`$`,
			`(?:\S*/)?(?:tee|sed|dd): |.*(?:cannot|can't|could not|[Uu]nable to) (?:touch|remove|create|make|overwrite|change|set|unlink|lock).*`,
			`(?:\S*/)?(?:cat|head|tail|less|more|grep|wc|cmp|diff|sort|sha256sum|md5sum|file|find|du): |.*(?:cannot|can't) (?:access|stat|read|open directory).*`),
		// zsh: permission denied: PATH
		compile(begin+`(?P<verb>zsh): `+reason+`: `+path+`$`, `-`, `-`),
		// Go's: open PATH: permission denied
		compile(`(?:^|[\s:])(?P<verb>open|stat|lstat|readlink|mkdir|remove|unlinkat|chmod|truncate|fork/exec) `+path+`: `+reason+`$`,
			`mkdir|remove|unlinkat|chmod|truncate`, `stat|lstat|readlink|fork/exec`),
		// Python's: PermissionError: [Errno 13] Permission denied: 'PATH'
		compile(begin+`(?P<verb>PermissionError|OSError|FileNotFoundError): \[Errno \d+\] `+reason+`: `+path+`$`, `-`, `-`),
		// Node's: Error: EACCES: permission denied, open 'PATH'
		compile(`\b(?:EACCES|EPERM|EROFS|EBUSY|ENOENT): `+reason+`[^,]*, (?P<verb>[a-z]+) `+path+`(?:\W*|\s.*)$`,
			`mkdir|unlink|rmdir|chmod|utime|ftruncate|truncate`, `stat|lstat|scandir|readlink|access|read`),
	}
})

var offline = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)network is unreachable|could not resolve host|temporary failure in name resolution|\b(ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b`)
})

// A refusal is what a line of a program says of a file.
type refusal struct {
	path          string
	reads, writes bool // what it was to do with it; neither where that is not said
	notFound      bool
}

// refusalIn reads a line; its path is "" where it is not one of the forms.
func refusalIn(line string) refusal {
	line = strings.TrimRight(line, " \r\n")
	for _, f := range forms() {
		groups := f.line.FindStringSubmatch(line)
		if groups == nil {
			continue
		}
		var r refusal
		for i, name := range f.line.SubexpNames() {
			switch name {
			case "path", "quoted":
				r.path += groups[i]
			case "reason":
				word := strings.ToLower(groups[i])
				r.notFound = strings.HasPrefix(word, "no such")
				r.writes = r.writes || strings.HasPrefix(word, "read-only") || strings.HasPrefix(word, "device")
			case "verb":
				r.reads = f.reads.MatchString(groups[i])
				r.writes = r.writes || f.writes.MatchString(groups[i])
			}
		}
		return r
	}
	return refusal{}
}

// Denials explains what text of a program says of files that the sandbox keeps
// from it, a line for each. It is told from the program's own words: what it
// does not say is not known, and what is refused for another reason is not
// explained.
func (p Policy) Denials(text string, environ []string) []string {
	var told []string
	tell := func(line string) {
		if line != "" && !slices.Contains(told, line) {
			told = append(told, line)
		}
	}
	for line := range strings.Lines(text) {
		if offline().MatchString(line) && p.Network != NetworkAny {
			tell("it has no network: network = \"" + p.Network + "\"")
		}
		if r := refusalIn(line); r.path != "" && len(r.path) <= 4096 {
			tell(p.explain(r, environ))
		}
	}
	return told
}

// risk is told with every offer of something that the agent cannot read: it is a
// person's own, as what everybody on the machine may read is granted already.
const risk = "; keys and passwords in it are then known to the agent, and to its model"

// explain says why a path is refused or was not found, "" where the sandbox is
// not the reason. A path that is not absolute is one of the agent's directory.
func (p Policy) explain(r refusal, environ []string) string {
	path := r.path
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.Home != "" {
		path = filepath.Join(p.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.WorkDir, path)
	}
	v := p.Check(path, "", environ)
	_, err := os.Lstat(v.Path)
	there := err == nil
	if !there { // it was to be made: what is around it decides
		_, err = os.Lstat(filepath.Dir(v.Path))
	}
	switch {
	case v.Write, err != nil, r.notFound && (v.Read || !there), r.reads && !r.writes && (v.Read || !there):
		return "" // not for the sandbox
	case v.hidden:
		return "it may not use " + v.Path + ": " + v.By
	case !r.writes && !v.Read && there:
		return "it may not read " + v.Path + ": sandbox = { read = [\"" + v.Path + "\"] } grants it" + risk
	case v.Protected && filepath.Base(v.protector) == ".git":
		return "it may not write " + v.Path + ": " + v.By + "; worktree = true lets it commit, or, where nobody else uses git, sandbox = { write = [\"" + v.protector + "\"] }"
	case v.Protected:
		return "it may not write " + v.Path + ": " + v.By
	}
	told := "it may not write " + v.Path + ": sandbox = { write = [...] } can grant it"
	if !v.Read && there {
		told += risk
	}
	return told
}
