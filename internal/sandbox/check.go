package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"den/internal/atomicfile"
)

// A Verdict says what an agent may do with a path, and what lets it.
type Verdict struct {
	Path  string `json:"path"`
	Read  bool   `json:"read"`
	Write bool   `json:"write"`
	By    string `json:"by,omitempty"` // the grant, or why there is none
}

// Check says what the agent may do with a path of this machine. program is what
// it runs, "" for any.
func (p Policy) Check(path, program string, environ []string) Verdict {
	path = filepath.Clean(path)
	real := realPath(path)
	v := Verdict{Path: path, By: "nothing grants it"}
	best := -1
	for _, g := range p.grants(program, environ) {
		if g.names || !within(real, g.real) || len(g.real) < best {
			continue
		}
		if len(g.real) > best || g.write {
			best = len(g.real)
			v.Read, v.Write, v.By = true, g.write, g.why+" ("+g.path+")"
		}
	}
	for _, dir := range p.Hide {
		if within(real, realPath(dir)) && len(realPath(dir)) > best {
			return Verdict{Path: path, By: "den's own files are hidden (" + dir + ")"}
		}
	}
	protect, keep := p.protected()
	if p.Held.Hides() {
		protect = append(protect, keep...)
	}
	for _, name := range protect {
		if v.Write && within(real, realPath(name)) {
			v.Write, v.By = false, "it decides what runs outside of the sandbox ("+filepath.Clean(name)+")"
		}
	}
	if !v.Read && v.private(p, real) {
		v.By = "nothing grants it; in the sandbox there is a directory of the agent's own in its place"
	}
	return v
}

func (v Verdict) private(p Policy, real string) bool {
	return within(real, "/tmp") || p.Home != "" && within(real, realPath(p.Home))
}

// refusals are the words of programs that were refused a file, or did not find
// one. It is compiled when it is first needed.
var refusals = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system|no such file or directory|\b(EACCES|EPERM|EROFS|ENOENT)\b`)
})

var notFound = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)no such file or directory|\bENOENT\b`) })

var pathsIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:~|\$HOME)?/[^\s'"` + "`" + `:,;()<>|]+`) })

var offline = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)network is unreachable|could not resolve host|temporary failure in name resolution|\b(ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b`)
})

// Denials explains what text of a program says of files that the sandbox keeps
// from it, a line for each. It is told from the program's own words: what it
// does not say is not known, and what is refused for another reason is not
// explained.
func (p Policy) Denials(text string, environ []string) []string {
	var told []string
	tell := func(line string) {
		if !slices.Contains(told, line) {
			told = append(told, line)
		}
	}
	for line := range strings.Lines(text) {
		if offline().MatchString(line) && p.Network != NetworkAny {
			tell("it has no network: network = \"" + p.Network + "\"")
		}
		if !refusals().MatchString(line) {
			continue
		}
		for _, path := range pathsIn().FindAllString(line, 8) {
			if word := p.explain(path, notFound().MatchString(line), environ); word != "" {
				tell(word)
			}
		}
	}
	return told
}

// explain says why a path is refused or was not found, "" where the sandbox is
// not the reason.
func (p Policy) explain(path string, notFound bool, environ []string) string {
	for _, home := range []string{"~/", "$HOME/"} {
		if rest, ok := strings.CutPrefix(path, home); ok && p.Home != "" {
			path = filepath.Join(p.Home, rest)
		}
	}
	path = strings.TrimRight(path, ".…")
	if !filepath.IsAbs(path) || len(path) > 4096 {
		return ""
	}
	v := p.Check(path, "", environ)
	_, err := os.Lstat(v.Path)
	there := err == nil
	if !there { // it was to be made: what is around it decides
		_, err = os.Lstat(filepath.Dir(v.Path))
	}
	switch {
	case v.Write, err != nil, notFound && (v.Read || !there):
		return "" // not for the sandbox
	case strings.HasPrefix(v.By, "den's own"), strings.HasPrefix(v.By, "it decides"):
		return "it may not use " + v.Path + ": " + v.By
	case v.Read, !there:
		return "it may not write " + v.Path + ": sandbox = { write = [...] } can grant it"
	}
	return "it may not read " + v.Path + ": sandbox = { read = [\"" + v.Path + "\"] } grants it"
}

// maxNoted bounds the denials that are kept: the oldest go.
const maxNoted = 20

func notedFile(private string) string { return filepath.Join(private, "denied.json") }

var noting sync.Mutex // one at a time: what is new is told once

// Note keeps denials for whoever asks, and returns those that are new.
func (p Policy) Note(denials []string) ([]string, error) {
	if len(denials) == 0 {
		return nil, nil
	}
	noting.Lock()
	defer noting.Unlock()
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
