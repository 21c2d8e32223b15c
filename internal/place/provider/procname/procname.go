// Package procname lists the names by which a process may be known.
package procname

import (
	"path/filepath"
	"slices"
	"strings"
)

// maxComm is how much of a program's name the system keeps as its command name.
const maxComm = 15

// Bears reports whether a process goes by one of the names: as its command
// name, as the base of its first argument, or as the script that an
// interpreter runs.
func Bears(comm string, argv, names []string) bool {
	is := aliases(argv)
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" && (comm == name[:min(len(name), maxComm)] || slices.Contains(is, name))
	})
}

// AnyBears reports whether one of the processes bears one of the names.
func AnyBears(pids []int, names []string) (bool, error) {
	for _, pid := range pids {
		comm, argv, err := Describe(pid)
		if err != nil {
			return false, err
		}
		if Bears(comm, argv, names) {
			return true, nil
		}
	}
	return false, nil
}

// Names are the names under which people know a process: what it does first,
// which is the script that an interpreter runs, or else its program; then its
// program; then its command name. Each is there once.
func Names(comm string, argv []string) []string {
	is := aliases(argv)
	if len(is) > 1 { // an interpreter with a script
		is = append(is[1:], is[0])
	}
	var names []string
	for _, name := range append(is, comm) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// interpreters run what people call the program. Their versions, as in
// python3.12, do not count.
var interpreters = []string{
	"sh", "bash", "dash", "ash", "zsh", "fish", "ksh",
	"node", "nodejs", "bun", "deno", "npx", "tsx", "python", "ruby", "perl", "lua", "php", "java",
}

// wrappers are words between an interpreter and its script.
var wrappers = []string{"run", "exec", "x"}

// aliases are the names that a process's arguments give it: the base of the
// first, and for an interpreter that of its script, also without its suffix.
func aliases(argv []string) []string {
	if len(argv) == 0 || argv[0] == "" {
		return nil
	}
	program := strings.TrimPrefix(filepath.Base(argv[0]), "-") // a login shell's
	names := []string{program}
	if !slices.Contains(interpreters, strings.TrimRight(program, "0123456789.")) {
		return names
	}
	if script := scriptOf(argv[1:]); script != "" {
		base := filepath.Base(script)
		names = append(names, base, strings.TrimSuffix(base, filepath.Ext(base)))
	}
	return names
}

// valued are options of interpreters whose value is the next argument.
var valued = []string{
	"--rcfile", "--init-file", "-o", "-O", "+o", "+O", // shells
	"-W", "-X", // python
	"-r", "--require", "--import", "--loader", // node
}

// scriptOf returns the first argument that is no option, or the module that
// -m names. Code on the command line has no name.
func scriptOf(args []string) string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-c" || arg == "-e" || arg == "":
			return ""
		case arg == "-m" && i+1 < len(args):
			return args[i+1]
		case slices.Contains(valued, arg):
			i++
		case strings.HasPrefix(arg, "-") || slices.Contains(wrappers, arg):
		default:
			return arg
		}
	}
	return ""
}
