package acceptance

import (
	"encoding/json"
	"testing"
)

// TestMarksBehindOtherPrograms brings marks into shells behind a real ssh, su
// and sudo: as the session's program, and as a command of a shell with marks.
// Cells there are exact then, however long they are silent.
func TestMarksBehindOtherPrograms(t *testing.T) {
	for _, c := range []struct {
		name string
		argv func(t *testing.T) []string
	}{
		{"ssh", startSSHD},
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
		mayBecome(t, argv[0])
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
