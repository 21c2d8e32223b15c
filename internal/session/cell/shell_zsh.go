package cell

import (
	"slices"
	"strings"
)

// prepareZsh makes zsh read den.zsh as .zshenv, by ZDOTDIR. A zsh with -f must
// read this file too: the file itself then disables the others.
func prepareZsh(c command) (plan, bool) {
	args, noFiles, ok := parseZsh(c.argv[1:])
	if !ok {
		return plan{}, false
	}
	name, login := strings.CutPrefix(c.argv[0], "-")
	argv := []string{name}
	if login {
		argv = append(argv, "-l")
	}
	lines := []string{restore(c.env, "ZDOTDIR"), assign("__den_token", c.token)}
	if noFiles {
		lines = append(lines, "builtin setopt norcs")
	}
	return plan{
		Integration: Integration{Argv: append(argv, args...), Env: with(c.env, "ZDOTDIR", c.dir), Shell: "zsh"},
		files:       map[string]string{".zshenv": startFile("den.zsh", lines...)},
	}, true
}

// parseZsh reports whether a zsh with these arguments is interactive. It
// returns them without -f, and whether that was there. Options that would
// trace or export den's own lines are refused.
func parseZsh(args []string) (rest []string, noFiles, ok bool) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-" || arg == "--":
			return append(rest, arg), noFiles, i == len(args)-1
		case arg == "--login" || arg == "--interactive":
			rest = append(rest, arg)
			continue
		case arg == "--no-rcs":
			noFiles = true
			continue
		case len(arg) < 2 || arg[0] != '-' && arg[0] != '+' || arg[1] == '-':
			return nil, false, false
		}
		kept := arg[:1]
		for _, c := range arg[1:] {
			switch {
			case c == 'f' && arg[0] == '-':
				noFiles = true
				continue
			case c == 'o':
				i++
				if i >= len(args) || slices.Contains(zshRefused, zshOption(args[i])) {
					return nil, false, false
				}
			case !strings.ContainsRune("ildegku", c):
				return nil, false, false
			}
			kept += string(c)
		}
		if len(kept) > 1 {
			rest = append(rest, kept)
		}
		if strings.HasSuffix(kept, "o") {
			rest = append(rest, args[i])
		}
	}
	return rest, noFiles, true
}

var zshRefused = []string{
	"allexport", "exec", "rcs", "restricted", "shinstdin", "singlecommand", "sourcetrace", "verbose", "xtrace", "kshglob", "shglob",
}

// zshOption normalises an option's name: case, underscores and a leading "no"
// make no difference.
func zshOption(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(name, "_", "")), "no")
}
