package home

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ShownCommand returns a command for tables: without the variables that it sets
// for its program, which may be secrets, and which others may see over a
// shoulder or in a picture. The record keeps the command as it is.
func ShownCommand(argv []string) []string {
	for len(argv) > 1 && filepath.Base(argv[0]) == "env" {
		rest := afterEnv(argv[1:])
		if len(rest) == 0 {
			return argv[:1]
		}
		argv = rest
	}
	at := scriptOf(argv)
	if at < 0 {
		return argv
	}
	script := argv[at]
	for set := assignment().FindString(script); set != ""; set = assignment().FindString(script) {
		script = script[len(set):]
	}
	if script == argv[at] {
		return argv
	}
	argv = slices.Clone(argv)
	argv[at] = script
	return argv
}

// afterEnv returns the command in the arguments of env, or nothing where it is
// not known.
func afterEnv(args []string) []string {
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "-u" || a == "--unset" || a == "-C" || a == "--chdir":
			args = args[min(2, len(args)):]
		case a == "-S" || strings.HasPrefix(a, "-S") || strings.HasPrefix(a, "--split-string"):
			return nil
		case strings.HasPrefix(a, "-") || strings.Contains(a, "="):
			args = args[1:]
		default:
			return args
		}
	}
	return nil
}

// scriptOf returns where the script of a shell's -c is, or -1.
func scriptOf(argv []string) int {
	if len(argv) == 0 || !slices.Contains([]string{"sh", "bash", "dash", "zsh"}, filepath.Base(argv[0])) {
		return -1
	}
	for i, a := range argv[1:] {
		if !strings.HasPrefix(a, "-") {
			return -1
		}
		if !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") {
			if i+2 < len(argv) {
				return i + 2
			}
			return -1
		}
	}
	return -1
}

// assignment is a variable at the beginning of a script, with what separates it
// from the command.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*=(?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'";&|]|\\.)*(?:\s*;\s*|\s*&&\s*|\s+|$)`)
})
