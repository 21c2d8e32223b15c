package acceptance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"den/internal/testkit/servertest"
)

// TestMarksBehindOtherPrograms brings marks into shells behind a real ssh, su
// and sudo: as the session's program, and as a command of a shell with marks.
// Cells there are exact then, however long they are silent.
func TestMarksBehindOtherPrograms(t *testing.T) {
	for _, c := range []struct {
		name string
		argv func(t *testing.T) []string
	}{
		{"ssh", servertest.SSHD},
		{"su", become("su", "nobody", "-s", "/bin/bash")},
		{"sudo", become("sudo", "-n", "-u", "nobody", "bash", "--norc")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			argv := c.argv(t)
			w := newWorld(t)
			w.do(append([]string{"new", "p", "--"}, argv...)...)
			w.do("wait", "p", "--regex", `[$#] $`, "-t", "30s")
			w.unmarked("p")
			w.marked("p", "2")
			w.do("new", "outer", "bash", "--norc")
			w.do("fire", "outer", "clear; "+quoted(argv))
			w.do("wait", "outer", "--regex", `^\S*[$#] $`, "-t", "30s")
			w.do("release", "outer")
			w.marked("outer", "0.2")
			w.do("run", "outer", "exit 4", "-t", "30s")
			if r := w.ask("run", "outer", "echo back"); r["output"] != "back" || r["by"] != "shell" {
				t.Errorf("in the outer shell: %v", r)
			}
		})
	}
}

// become is a command line that needs no password.
func become(argv ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		i := slices.IndexFunc(argv, func(word string) bool { return word == "su" || word == "sudo" })
		mayBecome(t, argv[i])
		return argv
	}
}

// quoted is a command line for a shell.
func quoted(argv []string) string {
	line := ""
	for _, a := range argv {
		line += "'" + a + "' "
	}
	return line
}

// TestShellsInsideGetMarks runs cells in shells behind a real ssh, su and sudo, and
// asks for no marks: cells are exact all the same, and nothing of how they came
// there is left on the screen or in the history.
func TestShellsInsideGetMarks(t *testing.T) {
	for _, c := range []struct {
		name string
		argv func(t *testing.T) []string
	}{
		{"ssh", servertest.SSHD},
		{"su", become("su", "nobody", "-s", "/bin/bash")},
		{"sudo", become("sudo", "-n", "-u", "nobody", "bash", "--norc")},
		// zsh would show den's variables in the tests' PS1: see docs/rough-edges.md.
		{"zsh", become("env", "-u", "PS1", "sudo", "-n", "zsh", "-f")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			argv := c.argv(t)
			w := newWorld(t)
			w.do(append([]string{"new", "p", "--"}, argv...)...)
			w.do("wait", "p", "--regex", `[$#] $`, "-t", "60s")
			w.exact("p")
			w.traceless("p", c.name != "zsh")
			w.do("new", "outer", "bash", "--norc")
			w.enters("outer", quoted(argv))
			w.exact("outer")
			w.traceless("outer", c.name != "zsh")
			w.enters("outer", "bash --norc") // one more inside, of which only its code tells behind ssh
			w.exact("outer")
			w.do("run", "outer", "exit 5", "-t", "60s")
			w.exact("outer")
			w.do("run", "outer", "exit 4", "-t", "60s")
			if r := w.ask("run", "outer", "echo back"); r["output"] != "back" || r["by"] != "shell" {
				t.Errorf("in the outer shell: %v", r)
			}
		})
	}
}

// TestNothingIsTypedIntoOtherPrograms has programs behind ssh that are no shell, or
// whose shell does not wait for a command: they get what the caller sends, and
// nothing else. Their questions are told.
func TestNothingIsTypedIntoOtherPrograms(t *testing.T) {
	t.Parallel()
	ssh := servertest.SSHD(t)
	for _, c := range []struct{ name, begin, asks, code, out string }{
		{"python", "python3 -q", `>>>`, "print(6 * 7)", "42"},
		{"sqlite", "sqlite3", `sqlite>`, "select 6 * 7;", "42"},
		{"question", `f() { read -p "root@far:~# " x; echo "[$x]"; }; f`, `root@far:~#`, "yes", "[yes]"},
		{"password", `stty -echo; printf 'Password: '; head -n 1 | wc -c; stty echo`, `Password:`, "abc", "4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.do(append([]string{"new", "far", "--"}, ssh...)...)
			w.do("wait", "far", "--text", servertest.Prompt, "-t", "60s")
			out, _, code := w.try("run", "far", c.begin, "-j", "-t", "60s")
			r := decode(t, out)
			if code != 13 || r["question"] != c.asks || r["inner_shell"] != nil {
				t.Fatalf("exit %d: %v", code, r)
			}
			if out, _, code := w.try("run", "far", c.code, "-j"); code != 5 {
				t.Errorf("code while it asks: exit %d: %s", code, out)
			}
			out, _, _ = w.try("answer", "far", c.code, "-j", "-t", "60s")
			if r := decode(t, out); !strings.Contains(fmt.Sprint(r["output"]), c.out) {
				t.Errorf("answered: %v", r)
			}
			if screen := w.do("snapshot", "far"); strings.Contains(screen, "stty") && c.name != "password" || strings.Contains(screen, "__den") {
				t.Errorf("the screen:\n%s", screen)
			}
		})
	}
}

// TestQuestionsWithoutMarks tells what a program behind ssh asks though nothing
// but its silence does: the session is to have no marks.
func TestQuestionsWithoutMarks(t *testing.T) {
	t.Parallel()
	ssh := servertest.SSHD(t)
	w := newWorld(t)
	w.do(append([]string{"new", "far", "--marks", "off", "--"}, ssh...)...)
	w.do("wait", "far", "--text", servertest.Prompt, "-t", "60s")
	out, _, code := w.try("run", "far", `read -p "go on " x; echo "[$x]"`, "-j", "-t", "60s")
	if r := decode(t, out); code != 13 || r["waiting_for"] != "input" || r["question"] != "go on" || r["certainty"] != "guess" {
		t.Fatalf("exit %d: %v", code, r)
	}
	if r := w.ask("answer", "far", "yes", "-t", "60s"); r["status"] != "done" || r["output"] != "go on yes\n[yes]" || r["exit_code"] != nil {
		t.Errorf("answered: %v", r)
	}
	if r := w.ask("run", "far", "echo here", "-t", "60s"); r["by"] != "prompt-learned" || r["output"] != "here" {
		t.Errorf("without marks: %v", r)
	}
	if r := w.ask("marks", "far", "-t", "60s"); r["status"] != "marked" {
		t.Errorf("marks: %v", r)
	}
	w.exact("far")
}

// enters runs code that begins another shell: the cell asks with its prompt.
func (w *world) enters(name, code string) {
	w.t.Helper()
	out, stderr, exit := w.try("run", name, code, "-j", "-t", "60s")
	if r := decode(w.t, out); exit != 13 || r["inner_shell"] != true {
		w.t.Fatalf("%s: exit %d: %v %s", code, exit, r, stderr)
	}
}

// exact runs cells whose output and exit code must be exact.
func (w *world) exact(name string) {
	w.t.Helper()
	for _, c := range []struct {
		code, out string
		exit      int
	}{
		{"echo one; echo two; (exit 7)", "one\ntwo", 7},
		{"true", "", 0},
		{"printf half", "half", 0},
		{"sleep 0.2; false", "", 1},
		{"PS1=\"(venv) $PS1\"", "", 0},
		{`echo "done!"`, "done!", 0},
	} {
		out, stderr, code := w.try("run", name, c.code, "-j", "-t", "60s")
		r := decode(w.t, out)
		exit, told := r["exit_code"].(float64)
		if code != 0 || r["by"] != "shell" || r["certainty"] != "exact" || r["output"] != c.out || !told || int(exit) != c.exit {
			w.t.Errorf("%s in %s: exit %d: %v %s", c.code, name, code, r, stderr)
		}
	}
}

// traceless expects nothing of den's code on the screen, or in the shell's history.
func (w *world) traceless(name string, history bool) {
	w.t.Helper()
	if screen := w.do("history", name, "-n", "200"); strings.Contains(screen, "stty") || strings.Contains(screen, "__den") {
		w.t.Errorf("%s shows:\n%s", name, screen)
	}
	if r := w.ask("run", name, "fc -l -20 | grep -c stt''y", "-t", "60s"); history && r["output"] != "0" {
		w.t.Errorf("the history of %s has it: %v", name, r)
	}
}

// unmarked runs a silent cell without marks. The prompt was there when its code
// was sent, so it is done when the prompt is back, and not before.
func (w *world) unmarked(name string) {
	w.t.Helper()
	out, stderr, code := w.try("run", name, "sleep 2; echo sl''ept", "-j", "-t", "30s")
	r := decode(w.t, out)
	if code != 0 || r["status"] != "done" || r["output"] != "slept" {
		w.t.Errorf("without marks: exit %d: %v %s", code, r, stderr)
	}
}

// marked brings marks into the shell and runs cells in it; the first is silent
// for so many seconds.
func (w *world) marked(name, silence string) {
	w.t.Helper()
	if r := w.ask("marks", name, "-t", "30s"); r["status"] != "marked" {
		w.t.Fatalf("marks: %v", r)
	}
	for _, c := range []struct {
		code, out string
		exit      int
	}{
		{"sleep " + silence + "; echo slept", "slept", 0}, {"(exit 3)", "", 3}, {"false", "", 1}, {"printf half", "half", 0}, {"echo one; echo two; (exit 7)", "one\ntwo", 7},
	} {
		out, stderr, code := w.try("run", name, c.code, "-j", "-t", "60s")
		r := decode(w.t, out)
		exit, _ := r["exit_code"].(float64)
		if code != 0 || r["status"] != "done" || r["by"] != "shell" || r["certainty"] != "exact" || r["output"] != c.out || int(exit) != c.exit {
			w.t.Errorf("%s in %s: exit %d: %v %s", c.code, name, code, r, stderr)
		}
	}
	if _, _, code := w.try("run", name, "(exit 3)", "--exit-code"); code != 3 {
		w.t.Errorf("--exit-code of (exit 3) is %d", code)
	}
}

func decode(t testing.TB, out string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return v
}
