package cell

import (
	"slices"
	"strings"
)

// prepareZsh loads den.zsh as .zshenv, by ZDOTDIR.
func prepareZsh(c command) (plan, bool) {
	if !parseZsh(c.argv[1:]) {
		return plan{}, false
	}
	argv := c.argv
	if name, login := strings.CutPrefix(argv[0], "-"); login {
		argv = append([]string{name, "-l"}, argv[1:]...)
	}
	return plan{
		Integration: Integration{Argv: argv, Env: with(c.env, "ZDOTDIR", c.dir), Shell: "zsh"},
		files:       map[string]string{".zshenv": startFile("den.zsh", restore(c.env, "ZDOTDIR"), assign("__den_token", c.token))},
	}, true
}

// parseZsh reports whether a zsh with these arguments is interactive and reads
// .zshenv. Options that would trace or export our own lines are refused.
func parseZsh(args []string) bool {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-" || arg == "--":
			return i == len(args)-1
		case arg == "--login" || arg == "--interactive":
			continue
		case len(arg) < 2 || arg[0] != '-' && arg[0] != '+' || arg[1] == '-':
			return false
		}
		for _, c := range arg[1:] {
			switch {
			case c == 'o':
				i++
				if i >= len(args) || slices.Contains(zshRefused, zshOption(args[i])) {
					return false
				}
			case !strings.ContainsRune("ildegku", c):
				return false
			}
		}
	}
	return true
}

var zshRefused = []string{
	"allexport", "exec", "rcs", "restricted", "shinstdin", "singlecommand", "sourcetrace", "verbose", "xtrace", "kshglob", "shglob",
}

// zshOption is an option's name without what makes no difference, "no" included.
func zshOption(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(name, "_", "")), "no")
}
