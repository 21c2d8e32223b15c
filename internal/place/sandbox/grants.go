package sandbox

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A grant is one path that the agent may use.
type grant struct {
	path  string // as programs name it
	real  string // where that leads
	write bool
	names bool   // of a directory only the names of what is in it
	plain bool   // to write, with files and directories only: a link would lead a person's git elsewhere
	why   string // for people
}

// system is what every program may need of the machine. Of /etc and /opt what
// everybody on the machine may read is granted, to root too.
var (
	system     = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}
	kernelDirs = []string{"/proc", "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"}
	// resolver has the files that /etc/resolv.conf leads to. They are
	// replaced, so it is their directories that are granted.
	resolver = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"}
	// gitConfig is what git reads of a home. Its credentials are not.
	gitConfig = []string{".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"}
)

// granter collects grants.
type granter struct {
	p    Policy
	all  []grant
	seen map[string]bool
}

// grants lists everything that the agent may use, for a program that is started
// with an environment. What the agent can write decides nothing: a link in
// there leads nowhere.
func (p Policy) grants(program string, environ []string) []grant {
	g := &granter{p: p, seen: map[string]bool{}}
	// What lies in another comes behind it: the agent decides where it leads.
	for _, path := range slices.SortedFunc(slices.Values(p.writable()), func(a, b string) int { return len(a) - len(b) }) {
		why := "sandbox.write, or its vendor's state"
		if path == p.WorkDir {
			why = "its directory"
		}
		g.add(path, true, why)
	}
	g.repositories()
	for _, path := range system {
		g.add(path, false, "the system's programs")
	}
	for _, path := range kernelDirs {
		g.add(path, false, "the kernel's files")
	}
	for _, path := range resolver {
		if isPublic(path) {
			g.add(path, false, "the name servers")
		}
	}
	for _, dir := range []string{"/etc", "/opt"} {
		g.public(dir)
	}
	for _, path := range p.Read {
		g.add(path, false, "sandbox.read")
	}
	if p.Home != "" {
		for _, name := range gitConfig {
			g.add(filepath.Join(p.Home, name), false, "git's settings")
		}
	}
	g.toolchains(program, environ)
	return g.all
}

// writable are the paths that a policy lets its agent write, its directory
// first. The agent's own home and /tmp are not among them.
func (p Policy) writable() []string { return append([]string{p.WorkDir}, p.Write...) }

// add grants a path, if it is there.
func (g *granter) add(path string, write bool, why string) {
	g.put(grant{path: path, write: write, why: why})
}

func (g *granter) put(x grant) {
	x.path = filepath.Clean(x.path)
	if g.seen[x.path] || g.inWritten(x.path) {
		return
	}
	real, err := filepath.EvalSymlinks(x.path)
	if err != nil {
		return
	}
	g.seen[x.path] = true
	x.real = real
	g.all = append(g.all, x)
	x.path = real
	g.put(x)
}

// plainPaths are the paths at which only files and directories may be made.
func plainPaths(grants []grant) []string {
	var all []string
	for _, g := range grants {
		if g.plain {
			all = append(all, g.path)
		}
	}
	return all
}

// inWritten reports whether a path lies below what the agent can write: it has
// all of it, and it decides where links in there lead.
func (g *granter) inWritten(path string) bool {
	return slices.ContainsFunc(g.all, func(x grant) bool { return x.write && (below(path, x.path) || below(path, x.real)) })
}

// public grants what everybody may read below a directory of the machine.
func (g *granter) public(dir string) {
	var found []string
	if whole := walkPublic(dir, &found); whole {
		found = []string{dir}
	} else if isPublic(dir) {
		g.all = append(g.all, grant{path: dir, real: dir, names: true, why: "the names in it"})
	}
	for _, path := range found {
		g.add(path, false, "everybody may read it")
	}
}

// walkPublic collects what everybody may read, and reports whether that is all
// there is. Links are not followed: what they lead to decides.
func walkPublic(dir string, found *[]string) (whole bool) {
	entries, err := os.ReadDir(dir)
	if err != nil || !isPublic(dir) {
		return false
	}
	whole = true
	var mine []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
		case e.IsDir():
			var inner []string
			if walkPublic(path, &inner) {
				mine = append(mine, path)
			} else {
				whole = false
				mine = append(mine, inner...)
			}
		case isPublic(path):
			mine = append(mine, path)
		default:
			whole = false
		}
	}
	*found = append(*found, mine...)
	return whole
}

// isPublic reports whether a file or directory is readable by everybody.
func isPublic(path string) bool {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		return info.Mode().Perm()&0o005 == 0o005
	}
	return info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0
}

// below reports whether path lies in dir, and is not dir.
func below(path, dir string) bool {
	return path != dir && (dir == "/" || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

func within(path, dir string) bool { return path == dir || below(path, dir) }

// coveredBy returns the first of dirs in which path lies, links followed; or "".
func coveredBy(path string, dirs []string) string {
	real := realPath(path)
	for _, dir := range dirs {
		if d := realPath(dir); within(path, dir) || within(real, d) || within(path, d) {
			return dir
		}
	}
	return ""
}

// realPath follows links as far as the path is there.
func realPath(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == "/" || dir == "." {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

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
