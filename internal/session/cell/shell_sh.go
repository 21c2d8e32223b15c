package cell

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// prepareSh makes a POSIX shell read den.sh by ENV.
func prepareSh(c command) (plan, bool) {
	name := strings.TrimPrefix(c.argv[0], "-")
	kind := shKind(name, c.env)
	login := name != c.argv[0]
	args := c.argv[1:]
	if filepath.Base(name) == "busybox" {
		if len(args) == 0 || args[0] != "ash" && args[0] != "sh" {
			return plan{}, false
		}
		args = args[1:]
	}
	for _, arg := range args {
		flags, isFlags := strings.CutPrefix(arg, "-")
		if !isFlags || flags == "" || strings.Trim(flags, "ilefuCbmIVEq") != "" {
			return plan{}, false
		}
		login = login || strings.Contains(flags, "l")
	}
	if kind == "" || kind == "bash" && login {
		return plan{}, false
	}
	p := c.byENV(kind)
	p.Shell, p.NoEditor = "sh", kind == "dash"
	p.Argv = c.argv
	if name != c.argv[0] {
		p.Argv = append([]string{name, "-l"}, args...)
	}
	return p, true
}

// byENV returns a plan for a shell that reads $ENV.
func (c command) byENV(kind string) plan {
	path := c.dir + "/den.sh"
	// The shell expands the value like a word in double quotes.
	path = strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`", `"`, `\"`).Replace(path)
	if kind == "bash" {
		kind = "" // it says so itself
	}
	token := assign("__den_token", c.token)
	return plan{
		Integration: Integration{Env: with(c.env, "ENV", path)},
		files: map[string]string{
			"den.sh":   startFile("den.sh", restore(c.env, "ENV"), token, assign("__den_kind", kind), assign("__den_dir", c.dir), assign("__den_t", "\x1b")),
			"den.bash": startFile("den.bash", token, "__den_start=env"),
		},
	}
}

// shKind returns which shell a name like "sh" or "/bin/sh" refers to: "dash",
// "busybox", "bash", or "" for an unknown one.
func shKind(name string, env []string) string {
	path := name
	if !strings.Contains(name, "/") {
		path = ""
		dirs, _ := lookup(env, "PATH")
		for _, dir := range filepath.SplitList(dirs) {
			if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				path = p
				break
			}
		}
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	switch base := filepath.Base(target); base {
	case "dash", "busybox", "bash":
		return base
	case "ash":
		return "busybox"
	}
	return ""
}
