package commandline

import (
	"regexp"
	"slices"
	"strings"
)

// Some builtins evaluate what they are given, quoted or not: a number that is a
// name or has a subscript runs the substitutions in it (printf %d and test -ne
// in zsh), and so does the name of a variable (printf -v, test -v in bash).

var (
	// plainFormat is a format of printf that prints its arguments as they are.
	// zsh reads other escapes before it looks for '%'.
	plainFormat = regexp.MustCompile(`^([^%\\]|\\[nrt\\]|%%|%-?[0-9]{0,3}(\.[0-9]{1,3})?[sb])*$`)
	integer     = regexp.MustCompile(`^[-+]?[0-9]{1,18}$`)
	// testOperators do not evaluate what stands beside them.
	testOperators  = []string{"-e", "-f", "-d", "-r", "-w", "-x", "-s", "-z", "-n", "-L", "-h", "-p", "-S", "-b", "-c", "-u", "-g", "-k", "-O", "-G", "-N", "-nt", "-ot", "-ef", "-a", "-o"}
	countOperators = []string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
)

// evaluates reports whether a command may evaluate one of its arguments.
func evaluates(name string, args []Word) bool {
	switch name {
	case "printf":
		if len(args) > 0 && args[0].Text == "--" {
			args = args[1:]
		}
		return len(args) > 0 && (args[0].Dynamic || strings.HasPrefix(args[0].Text, "-") || !plainFormat.MatchString(args[0].Text))
	case "test", "[":
		return slices.ContainsFunc(args, func(w Word) bool { return w.Dynamic }) || !plainTest(args)
	case "wait":
		return slices.ContainsFunc(args, func(w Word) bool { return w.Dynamic || strings.HasPrefix(w.Text, "-") })
	}
	return false
}

// plainTest reports that the operators of a test are known, and that those
// which count have numbers beside them.
func plainTest(args []Word) bool {
	for i, w := range args {
		switch {
		case slices.Contains(countOperators, w.Text):
			if i == 0 || i+1 == len(args) || !integer.MatchString(args[i-1].Text) || !integer.MatchString(args[i+1].Text) {
				return false
			}
		case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && !integer.MatchString(w.Text) && !slices.Contains(testOperators, w.Text):
			return false
		}
	}
	return true
}
