package cell

import (
	"slices"
	"strings"
)

// bashArgs is a parsed bash command line.
type bashArgs struct {
	login, noProfile, noRC, noEdit, posix bool

	rc   string   // the user's --rcfile, or ""
	rest []string // the options to keep that can stand after ours
}

// Options that do not change how bash starts. A command with any other option
// is not an interactive shell, or would trace or export den's own lines.
const bashFlags = "befhimpuBCEHPT"

var bashOptions = []string{
	"braceexpand", "emacs", "errexit", "errtrace", "functrace", "hashall", "histexpand", "history", "ignoreeof",
	"monitor", "noclobber", "noglob", "notify", "nounset", "physical", "pipefail", "vi",
}

func parseBash(argv []string) (a bashArgs, ok bool) {
	a.login = strings.HasPrefix(argv[0], "-")
	args := argv[1:]
	// Long options come first, with one dash or two.
	for len(args) > 0 {
		name, long := strings.CutPrefix(args[0], "-")
		name = strings.TrimPrefix(name, "-")
		if !long || len(name) < 2 {
			break
		}
		switch name {
		case "login":
			a.login = true
		case "noprofile":
			a.noProfile = true
		case "norc":
			a.noRC = true
		case "noediting":
			a.noEdit = true
		case "posix":
			a.posix = true
		case "rcfile", "init-file":
			if len(args) < 2 {
				return a, false
			}
			a.rc, args = args[1], args[1:]
		default:
			if strings.HasPrefix(args[0], "--") {
				return a, false
			}
			return a, a.parseFlags(args)
		}
		args = args[1:]
	}
	return a, a.parseFlags(args)
}

// parseFlags parses the arguments after the long options.
func (a *bashArgs) parseFlags(args []string) bool {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-" || arg == "--":
			return i == len(args)-1
		case len(arg) < 2 || arg[0] != '-' && arg[0] != '+':
			return false // a script
		}
		keep := arg[:1]
		var values []string
		for _, c := range arg[1:] {
			switch {
			case c == 'l' && arg[0] == '-':
				a.login = true
				continue
			case c == 'o' || c == 'O':
				i++
				if i >= len(args) || c == 'o' && !slices.Contains(bashOptions, args[i]) {
					return false
				}
				values = append(values, args[i])
			case !strings.ContainsRune(bashFlags, c):
				return false
			}
			keep += string(c)
		}
		if len(keep) > 1 {
			a.rest = append(append(a.rest, keep), values...)
		}
	}
	return true
}

// prepareBash makes bash read den.bash as its rc file, after the system's own.
// A shell that reads no rc file gets it by PROMPT_COMMAND. A login shell,
// which reads none either, is started as an ordinary one that reads the login
// files.
func prepareBash(c command) (plan, bool) {
	a, ok := parseBash(c.argv)
	if !ok {
		return plan{}, false
	}
	if a.posix {
		if a.login || slices.ContainsFunc(a.rest, privileged) {
			return plan{}, false
		}
		p := c.byENV("")
		p.Shell, p.NoEditor, p.Argv = "bash", a.noEdit, c.argv
		return p, true
	}
	head := []string{assign("__den_token", c.token)}
	if a.noEdit {
		head = append(head, "__den_noedit=1")
	}
	p := plan{Integration: Integration{Argv: c.argv, Env: c.env, Shell: "bash", NoEditor: a.noEdit}}
	switch {
	case a.login && a.noProfile || !a.login && a.noRC:
		head = append(head, "__den_start=prompt")
		if v, ok := lookup(c.env, "PROMPT_COMMAND"); ok {
			head = append(head, assign("__den_prompt", v))
		}
		p.Env = with(c.env, "PROMPT_COMMAND", ". "+quote(c.dir+"/den.bash"))
		if strings.HasPrefix(c.argv[0], "-") {
			p.Argv = append([]string{c.argv[0][1:], "--login"}, c.argv[1:]...)
		}
	case a.login:
		head = append(head, "__den_start=login")
		if strings.HasPrefix(c.argv[0], "-") {
			head = append(head, assign("__den_argv0", c.argv[0]))
		}
		p.Argv = a.argv(c)
	default:
		rc := "~/.bashrc"
		if a.rc != "" {
			rc = quote(a.rc)
			if !strings.Contains(a.rc, "/") {
				rc = quote("./" + a.rc) // `.` would look for it on PATH
			}
		}
		head = append(head, "__den_start=rc", "__den_rc="+rc)
		p.Argv = a.argv(c)
	}
	p.files = map[string]string{"den.bash": startFile("den.bash", head...)}
	return p, true
}

// argv returns the command line of a shell that reads den's file as its rc
// file.
func (a bashArgs) argv(c command) []string {
	argv := []string{strings.TrimPrefix(c.argv[0], "-")}
	if a.noEdit {
		argv = append(argv, "--noediting")
	}
	argv = append(argv, "--rcfile", c.dir+"/den.bash")
	return append(argv, a.rest...)
}

func privileged(flags string) bool {
	return strings.HasPrefix(flags, "-") && strings.Contains(flags, "p")
}
