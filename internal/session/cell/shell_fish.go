package cell

import "strings"

// prepareFish makes fish read den.fish by --init-command, after the user's
// configuration. The marks that fish 4 prints itself, without den's token, are
// switched off. Older versions ignore unknown features.
func prepareFish(c command) (plan, bool) {
	features, ok := parseFish(c.argv[1:])
	if !ok {
		return plan{}, false
	}
	argv := []string{c.argv[0]}
	if name, login := strings.CutPrefix(c.argv[0], "-"); login {
		argv = []string{name, "--login"}
	}
	argv = append(argv, c.argv[1:]...)
	if features != "" {
		features += ","
	}
	argv = append(argv, "--features="+features+"no-mark-prompt", "--init-command", "builtin source "+quoteFish(c.dir+"/den.fish"))
	return plan{
		Integration: Integration{Argv: argv, Env: c.env, Shell: "fish"},
		files:       map[string]string{"den.fish": startFile("den.fish", "set -g __den_token "+c.token)},
	}, true
}

// parseFish reports whether a fish with these arguments is interactive, and
// returns the features that it was given.
func parseFish(args []string) (features string, ok bool) {
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch name {
		case "-i", "--interactive", "-l", "--login", "-N", "--no-config", "-P", "--private", "-il", "-li":
			if joined {
				return "", false
			}
		case "-f", "--features", "-C", "--init-command":
			if !joined {
				i++
				if i >= len(args) {
					return "", false
				}
				value = args[i]
			}
			if name == "-f" || name == "--features" {
				features = value
			}
		default:
			return "", false
		}
	}
	return features, true
}

func quoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
