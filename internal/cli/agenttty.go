package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"den/internal/cli/k"
)

// asK runs den as k, agent-tty or km, if it was started by one of these names.
func (a *app) asK(args []string) (status int, ok bool) {
	tool := k.Tool{Environ: a.environ, Getenv: a.getenv, Stdout: a.text, Stderr: a.stderr, Version: Version}
	switch filepath.Base(args[0]) {
	case "agent-tty":
		if words, ok := a.denWords(args[1:]); ok {
			return Main(append([]string{"den"}, words...), a.environ, a.stdin, a.stdout, a.stderr), true
		}
		return tool.Main(args[1:]), true
	case "k":
		return tool.Main(args[1:]), true
	case "km":
		return tool.Monitor(args[1:]), true
	}
	return 0, false
}

// denWords translates the arguments of the other tool named agent-tty into
// den's own. It returns false for k's. (Two tools have that name: one is k; of
// the other one's verbs den has all that drive a session.)
func (a *app) denWords(words []string) ([]string, bool) {
	if len(words) == 0 {
		return nil, false
	}
	verb := words[0]
	if slices.Contains([]string{"run", "await"}, verb) {
		return otherRun(words)
	}
	if slices.Contains(k.Verbs, verb) || strings.HasPrefix(verb, "-") {
		return nil, false
	}
	cmd, _, err := newRoot(a, words).Find(words)
	return words, err == nil && cmd.HasParent()
}

// otherRun translates the other tool's run: its --timeout is in milliseconds,
// and with --no-wait it is den's fire. A run without any of its flags is k's.
func otherRun(words []string) ([]string, bool) {
	out, found := []string{"run"}, false
	for i := 1; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		switch {
		case words[i] == "--": // the rest is no flag
			return append(out, words[i:]...), found
		case name == "--json" || name == "--file":
			found = true
			out = append(out, words[i])
		case name == "--no-wait":
			found, out[0] = true, "fire"
		case name == "--timeout":
			found = true
			if !given && i+1 < len(words) {
				i++
				value = words[i]
			}
			out = append(out, "--timeout="+value+"ms")
		default:
			out = append(out, words[i])
		}
	}
	return out, found
}
