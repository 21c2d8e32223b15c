package tmux

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// gate is the script that becomes the command. It asks the server something
// first: when that has answered, the turn in which it made the pane is over.
// Before that tmux 3.3 may collect a child without reading its last words, and
// of a command that ends at once nothing would be seen. The mark comes last,
// so who bears it is the command itself; until then the script bears another,
// so that what would become a session's command when its server has gone is
// found too.
const gate = `"$1" -N -S "$2" has-session -t "=` + keeper + `" </dev/null >/dev/null 2>&1; unset ` + gateKey + `; export ` + markKey + `="$3"; shift 3; exec "$@"`

// A shell does not hand on variables that it could not have named.
var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// launch is what comes after new-session's options so far: the command behind
// the gate, or as it is where its environment has variables that the gate
// would lose. It is never one word: tmux would give that to a shell.
func (p *Provider) launch(argv, variables []string, mark string) ([]string, error) {
	if !slices.ContainsFunc(variables, func(k string) bool { return !shellName.MatchString(k) }) {
		return append([]string{"-e", gateKey + "=" + mark, "--", "/bin/sh", "-c", gate, "den-start", p.binary, p.socket, mark}, argv...), nil
	}
	mark = markKey + "=" + mark
	switch {
	case len(argv) > 1:
		return append([]string{"-e", mark, "--"}, argv...), nil
	case strings.Contains(argv[0], "="): // env would take it for a variable
		return []string{"-e", mark, "--", "/bin/sh", "-c", `exec "$0"`, argv[0]}, nil
	}
	env, err := exec.LookPath("env")
	return []string{"--", env, mark, argv[0]}, err
}
