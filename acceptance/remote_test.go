package acceptance

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"den/internal/session/cell"
	"den/internal/testkit/need"
	"den/internal/testkit/servertest"
)

// farInputs are for a shell of which den sees no processes: on another machine, or
// behind a terminal of somebody else's. It gets its marks with the first.
var farInputs = []input{
	{code: "echo hello", out: "hello"},
	{code: "true"},
	{code: "nosuchcommand", out: "bash: nosuchcommand: command not found", exit: 127},
	{code: "echo one\necho two", out: "one\ntwo"},
	{code: "echo 'a\nb'", out: "a\nb"},
	{code: "for i in 1 2; do\necho $i\ndone", out: "1\n2"},
	{code: "sleep 0.3; echo slow", out: "slow", minimum: 300},
	{code: "printf 'no newline'", out: "no newline"},
	{code: "seq 1 2000 | tail -n 2", out: "1999\n2000"},
	{code: "echo bu''sy; sleep 100", busy: "busy", exit: 130},
	{code: "echo after", out: "after"},
	{code: "exit 7", by: cell.ByExit, exit: 7, out: "exit"},
}

// TestRemote runs cells in a shell behind ssh: as the session's program, and
// as a command of a shell with marks.
func TestRemote(t *testing.T) {
	t.Parallel()
	ssh := servertest.SSHD(t)
	w := newWorld(t)
	far := program{name: "far", by: cell.ByShell, inputs: farInputs}
	w.do(append([]string{"new", "far", "--"}, ssh...)...)
	w.do("wait", "far", "--text", servertest.Prompt)
	for _, in := range far.inputs {
		w.give(far, in)
	}

	near := program{name: "near", by: cell.ByShell}
	w.do("new", "near", "bash", "--norc")
	line := strings.Join(ssh, " ")
	w.give(near, input{
		code: line, fire: true, shows: servertest.Prompt, answer: []string{"type", "exit 5", "--enter"},
		out: servertest.Prompt + " exit 5\nexit", exit: 5,
	})
	w.give(near, input{code: "echo back", out: "back"})
	for _, c := range []struct {
		name  string
		argv  []string
		early bool // do not wait for the first prompt
		by    cell.By
		in    input
	}{
		{
			"nested", []string{"bash", "--norc"}, true, cell.ByShell,
			input{
				code: line, waits: cell.ForInput, asks: `remote\$ `, answer: []string{"type", "exit 5", "--enter"},
				out: servertest.Prompt + " exit 5\nexit", exit: 5,
			},
		},
		{
			"question", ssh, false, cell.ByShell,
			input{
				code: `read -p "name? " x; echo "[$x]"`, waits: cell.ForInput, asks: `name\? `,
				answer: []string{"type", "bob", "--enter"}, out: "name? bob\n[bob]",
			},
		},
		{
			"early", ssh, true, cell.ByShell, input{code: "echo hello", out: "hello"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			mine := *w
			mine.t = t
			mine.do(append([]string{"new", c.name, "--"}, c.argv...)...)
			if !c.early {
				mine.do("wait", c.name, "--text", servertest.Prompt)
			}
			mine.give(program{name: c.name, by: c.by}, c.in)
		})
	}
}

// TestOtherUsers runs cells in the shells that su and sudo start: as the
// session's program without marks, and as a command of a shell with marks.
func TestOtherUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "LC_ALL=C.UTF-8")
	for _, c := range []struct {
		name   string
		argv   []string
		by, or cell.By
		nested bool // is told as a question in a shell with marks
	}{
		{"su", []string{"su", "-", "nobody", "-s", "/bin/bash"}, cell.ByReady, cell.ByReady, true},
		{"su-c", []string{"su", "-c", "HISTFILE= bash --norc"}, cell.ByReady, cell.ByReady, true},
		{"sudo", []string{"sudo", "-n", "env", "PS1=$ ", "HISTFILE=", "bash", "--norc"}, cell.ByLearned, cell.ByReady, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			mayBecome(t, c.argv[0])
			mine := *w
			mine.t = t
			mine.do(append([]string{"new", c.name, "--marks", "off", "--"}, c.argv...)...)
			mine.do("wait", c.name, "--regex", `[$#]`)
			p := program{name: c.name, by: c.by, or: c.or}
			for _, in := range farInputs {
				switch {
				case in.by == cell.ByExit:
					in.out, in.like = "", "(exit|logout)"
				case strings.Contains(in.code, "nosuch"):
					in.out, in.like = "", "-?bash: .*nosuchcommand.*"
				case in.out == "no newline" && c.name == "sudo":
					p.or = cell.ByQuiet // nobody can tell it from a question
				}
				mine.give(p, in)
				p.or = c.or
			}
			mine.nested(c.name, c.argv, c.nested)
		})
	}
}

// nested starts a program in a shell with marks, and leaves it.
func (w *world) nested(name string, argv []string, asks bool) {
	w.t.Helper()
	in := program{name: "in-" + name, by: cell.ByShell}
	w.do("new", in.name, "bash", "--norc")
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + a + "'"
	}
	line := strings.Join(words, " ")
	given := input{
		code: line, waits: cell.ForInput, asks: `(?s:.*)[$#] `, answer: []string{"type", "exit 5", "--enter"},
		like: `.*[$#] exit 5\n(exit|logout)`, exit: 5,
	}
	if !asks { // den does not tell this as a question yet
		given.fire, given.shows = true, "\n$"
	}
	w.give(in, given)
	w.give(in, input{code: "echo back", out: "back"})
}

// mayBecome skips where su or sudo would ask for a password.
func mayBecome(t *testing.T, tool string) {
	t.Helper()
	need.Program(t, tool)
	if tool == "su" && os.Getuid() != 0 {
		need.Feature(t, "su asks for a password: run the tests as root")
	}
	if out, err := exec.Command(tool, map[string][]string{"su": {"-c", "true"}, "sudo": {"-n", "true"}}[tool]...).CombinedOutput(); err != nil {
		need.Feature(t, "%s asks for a password, or may not: %v: %s", tool, err, out)
	}
}
