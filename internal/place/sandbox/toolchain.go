package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// toolchains grants the directories of PATH, with what links in them lead to,
// and the program itself with its interpreter.
func (g *granter) toolchains(program string, environ []string) {
	var links []string
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		if !filepath.IsAbs(dir) || g.p.precious(dir) || g.inWritten(dir) || g.granted(dir) {
			continue
		}
		g.add(dir, false, "it is on PATH")
		entries, _ := os.ReadDir(dir) // Best effort: one that cannot be read is of no use.
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				links = append(links, filepath.Join(dir, e.Name()))
			}
		}
	}
	g.program(program, environ)
	for _, link := range links {
		g.installation(link, "a program on PATH", g.p.leadsAway(link))
	}
}

// program grants the agent's program, with what it lies in.
func (g *granter) program(program string, environ []string) {
	for range 4 { // an interpreter may be a script, too
		if program == "" || g.inWritten(program) || slices.ContainsFunc(g.all, func(x grant) bool { return x.write && x.path == program }) {
			return
		}
		g.add(program, false, "the agent's program")
		g.installation(program, "the agent's program", false)
		program = interpreter(program, environ)
	}
}

func (g *granter) granted(path string) bool {
	return slices.ContainsFunc(g.all, func(x grant) bool { return !x.names && within(path, x.path) })
}

// installation grants what a program lies in: its packages where it is one of
// npm's, the directory above "bin", else its own directory or the file alone.
func (g *granter) installation(program, why string, alone bool) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil || g.granted(real) {
		return
	}
	dir := filepath.Dir(real)
	if i := strings.Index(real, "/node_modules/"); i > 0 {
		dir = real[:i+len("/node_modules")]
	} else if filepath.Base(dir) == "bin" && !g.p.precious(filepath.Dir(dir)) {
		dir = filepath.Dir(dir)
	}
	if g.p.precious(dir) || alone && dir == filepath.Dir(real) {
		dir = real
	}
	g.add(dir, false, why)
}

// leadsAway reports whether a link on PATH leads out of the directory above its
// own, which holds what was installed with it: it may lead anywhere. A home is
// no such directory.
func (p Policy) leadsAway(link string) bool {
	top := filepath.Dir(realPath(filepath.Dir(link)))
	return within(realPath(p.Home), top) || !below(realPath(link), top)
}

// precious reports whether a directory holds more than programs: a home, what
// is above one, and the places in it that programs share with their secrets.
func (p Policy) precious(dir string) bool {
	if p.Home == "" {
		return dir == "/"
	}
	home := realPath(p.Home)
	if within(home, dir) || within(p.Home, dir) {
		return true
	}
	rel, err := filepath.Rel(home, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	switch rel {
	case ".local", ".local/share", ".local/state", ".config", ".cache", ".cargo", ".ssh", ".gnupg", ".aws", ".kube", "Library":
		return true
	}
	return false
}

// interpreter is the program that runs a script, "" for a program of its own.
func interpreter(file string, environ []string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close() // Best effort: it was only read.
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	text, ok := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(text)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return find(word, "", environ)
		}
	}
	return ""
}

// find returns the file of a program's name, "" for none.
func find(name, dir string, environ []string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name
	}
	for _, d := range filepath.SplitList(lookup(environ, "PATH")) {
		if file, err := exec.LookPath(filepath.Join(d, name)); err == nil && filepath.IsAbs(file) {
			return file
		}
	}
	return ""
}

func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
