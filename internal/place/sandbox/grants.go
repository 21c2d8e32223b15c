package sandbox

import (
	"io/fs"
	"os"
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
