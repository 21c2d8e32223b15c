package sandbox

import (
	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/lazy"
	"encoding/json"
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
var forms = lazy.Value[[]form]{Make: func() []form {
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
}}

var offline = lazy.Regexp{Expr: `(?i)network is unreachable|could not resolve host|temporary failure in name resolution|\b(ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b`}

// A refusal is what a line of a program says of a file.
type refusal struct {
	path          string
	reads, writes bool // what it was to do with it; neither where that is not said
	notFound      bool
}

// refusalIn reads a line; its path is "" where it is not one of the forms.
func refusalIn(line string) refusal {
	line = strings.TrimRight(line, " \r\n")
	for _, f := range forms.Get() {
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
		if offline.Get().MatchString(line) && p.Network != NetworkAny {
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

// maxNoted bounds the denials that are kept: the oldest go.
const maxNoted = 20

func notedFile(private string) string { return filepath.Join(private, "denied.json") }

// noting is held by one at a time: what is new is told once. It guards lives.
var noting sync.Mutex

// lives counts, by their directories, the beginnings and ends of agents' starts
// in this process: it is odd while a start is under way.
var lives map[string]int

// Life is one life of an agent; see Living.
type Life int

// Living tells the agent's life of now from those before, whose words are not
// its own. There is none while it is started: it still shows what the one
// before did.
func (p Policy) Living() (Life, bool) {
	noting.Lock()
	defer noting.Unlock()
	return Life(lives[p.Private]), lives[p.Private]%2 == 0
}

// Begin is called when a start begins, and Begun when its session is there:
// what was refused before is forgotten.
func (p Policy) Begin() error { return p.forget(1) }

// Begun is the end of Begin.
func (p Policy) Begun() error { return p.forget(0) }

func (p Policy) forget(odd int) error {
	noting.Lock()
	defer noting.Unlock()
	if lives == nil {
		lives = map[string]int{}
	}
	if lives[p.Private]++; lives[p.Private]%2 != odd { // a start that failed was not ended
		lives[p.Private]++
	}
	if err := os.RemoveAll(notedFile(p.Private)); err != nil {
		return fault.Errorf(fault.Storage, "sandbox of agent '%s': forget what it refused: %w", p.Agent, err)
	}
	return nil
}

// Note keeps denials of a life for whoever asks, and returns those that are new.
func (p Policy) Note(life Life, denials []string) ([]string, error) {
	noting.Lock()
	defer noting.Unlock()
	if len(denials) == 0 || lives[p.Private] != int(life) {
		return nil, nil
	}
	known := Noted(p.Private)
	fresh := slices.DeleteFunc(slices.Clone(denials), func(d string) bool { return slices.Contains(known, d) })
	if len(fresh) == 0 {
		return nil, nil
	}
	known = append(known, fresh...)
	return fresh, atomicfile.ReplaceJSON(notedFile(p.Private), known[max(0, len(known)-maxNoted):])
}

// Noted returns the denials that were kept for an agent since its start.
func Noted(private string) []string {
	var all []string
	if data, err := os.ReadFile(notedFile(private)); err == nil {
		_ = json.Unmarshal(data, &all) // Best effort: a note that cannot be read is none.
	}
	return all
}
