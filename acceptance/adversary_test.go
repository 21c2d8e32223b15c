package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// fullLength reports whether the long forms run, as for TestCellStress.
func fullLength() bool { return os.Getenv("DEN_STRESS") != "" }

// TestCellRate runs cells one after the other over one connection: 200 for
// each second that it stands for, a minute with DEN_STRESS (or DEN_STRESS_TIME).
// How fast that was is said and not judged.
func TestCellRate(t *testing.T) {
	long := 2 * time.Second
	if fullLength() {
		long = time.Minute
		if s := os.Getenv("DEN_STRESS_TIME"); s != "" {
			d, err := time.ParseDuration(s)
			if err != nil {
				t.Fatal(err)
			}
			long = d
		}
	}
	for _, p := range []struct {
		name string
		argv []string
		code string
		exit bool
	}{
		{"bash", []string{"bash", "--norc"}, "echo cell-$((%d))", true},
		{"python3", []string{"python3", "-q"}, "print('cell-%%d' %% %d)", false},
	} {
		t.Run(p.name, func(t *testing.T) {
			need.Program(t, p.name)
			w := newWorld(t)
			d := w.open(append([]string{p.name}, p.argv...)...)
			n := int(200 * long.Seconds())
			begun := time.Now()
			ids := runCells(t, d, n, p.code, p.exit)
			took := time.Since(begun)
			checkCellEvents(w, d, ids)
			t.Logf("%d cells in %v: %.0f a second", n, took.Round(time.Millisecond), float64(n)/took.Seconds())
		})
	}
}

// open makes a session and returns its directory.
func (w *world) open(args ...string) home.Dir {
	w.t.Helper()
	w.do(append([]string{"new"}, args...)...)
	d, err := w.home.Find(args[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// runCells runs n cells that say their number, and returns their ids.
func runCells(t *testing.T, d home.Dir, n int, code string, exit bool) map[string]bool {
	t.Helper()
	c, err := session.Dial(t.Context(), d, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids := map[string]bool{}
	for i := range n {
		var r cell.Result
		if err := c.Call(t.Context(), wire.MethodRun, wire.Run{Code: fmt.Sprintf(code, i), Timeout: 2 * time.Minute}, &r); err != nil {
			t.Fatalf("cell %d: %v", i, err)
		}
		if r.Status != cell.Done || r.Output != "cell-"+strconv.Itoa(i) || exit && (r.ExitCode == nil || *r.ExitCode != 0) {
			t.Fatalf("cell %d: %+v", i, r)
		}
		ids[r.CellID] = true
	}
	if len(ids) != n {
		t.Errorf("%d cells have %d ids", n, len(ids))
	}
	return ids
}

// checkCellEvents demands of the log that each cell began and ended once.
func checkCellEvents(w *world, d home.Dir, ids map[string]bool) {
	w.t.Helper()
	ends, _ := (&stress{world: w}).readLog(d)
	for id := range ids {
		if got := ends[id]; len(got) != 1 || got[0] != string(cell.Done) {
			w.t.Errorf("cell %s ended as %v in the log", id, got)
		}
	}
	if len(ends) != len(ids) {
		w.t.Errorf("the log has %d cells, want %d", len(ends), len(ids))
	}
}

// TestCellLines holds the output of one cell against what was printed, byte
// for byte: 100,000 lines, or 110 million (1 GiB) with DEN_STRESS, and says what
// memory its host took.
func TestCellLines(t *testing.T) {
	need.Program(t, "bash")
	lines := 100_000
	if fullLength() {
		lines = 110_000_000
	}
	w := newWorld(t)
	w.open("sh", "bash", "--norc")
	w.do("run", "sh", "seq 1 20000") // scrollback and buffers are there
	before := w.hostMemory("sh")
	begun := time.Now()
	out := w.do("run", "sh", fmt.Sprintf("seq 1 %d", lines), "-t", "60m", "-j")
	took := time.Since(begun)
	var r cell.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	first, last := strings.HasPrefix(r.Output, "1\n2\n"), strings.HasSuffix(r.Output, fmt.Sprintf("\n%d\n%d", lines-1, lines))
	if !first || !last || r.Truncated != (lines > 1_000_000) || r.By != cell.ByShell {
		t.Errorf("%.300s ... %.300s: the answer is not that of %d lines", out, out[max(0, len(out)-300):], lines)
	}
	f, err := os.Open(r.OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	countLines(t, "the rendered output", f, lines, "\n")
	after := w.hostMemory("sh")
	t.Logf("%d lines in %v; the host took at most %d MiB, %d before", lines, took.Round(time.Millisecond), after>>20, before>>20)
	if grown := after - before; grown > maxGrowth {
		t.Errorf("the host's memory grew by %d MiB", grown>>20)
	}

	raw := exec.Command(w.den, "poll", "sh", r.CellID, "--raw")
	raw.Env = w.env
	bytes, err := raw.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Start(); err != nil {
		t.Fatal(err)
	}
	countLines(t, "the bytes", bytes, lines, "\r\n")
	if err := raw.Wait(); err != nil {
		t.Errorf("poll --raw: %v", err)
	}
}

// maxGrowth bounds what a cell's output may add to a host's memory, whatever its size.
const maxGrowth = 64 << 20

// hostMemory returns the most memory that a session's host ever took.
func (w *world) hostMemory(name string) int {
	w.t.Helper()
	var at struct {
		Host int `json:"host_pid"`
	}
	if err := json.Unmarshal([]byte(w.do("status", name, "-j")), &at); err != nil {
		w.t.Fatal(err)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", at.Host))
	if err != nil {
		w.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		w.t.Fatalf("%v in %s", err, raw)
	}
	return kib << 10
}

// countLines demands the numbers from 1 to n, each with the given end, and no
// byte more. It reads all of from.
func countLines(t *testing.T, what string, from io.Reader, n int, end string) {
	t.Helper()
	in := bufio.NewReaderSize(from, 1<<20)
	defer io.Copy(io.Discard, in) // or the writer could not end
	for i := 1; i <= n; i++ {
		got, err := in.ReadString('\n')
		if want := strconv.Itoa(i) + end; got != want || err != nil {
			t.Errorf("%s: line %d is %q (%v), want %q", what, i, got, err, want)
			return
		}
	}
	if rest, err := in.ReadString('\n'); rest != "" || err != io.EOF {
		t.Errorf("%s: behind the last line stands %q (%v)", what, rest, err)
	}
}

// editors are programs that draw their input line themselves, key by key, and
// those that read it in other ways than the rest of their kind.
var editors = []program{
	{name: "fish-N", needs: "fish", pkg: "fish", argv: []string{"fish", "-N"}, by: cell.ByShell, inputs: shellInputs},
	{name: "fish-N-lines", needs: "fish", pkg: "fish", argv: []string{"fish", "-N"}, by: cell.ByShell, inputs: []input{
		{code: "for i in 1 2\n  echo $i\nend", out: "1\n2"},
		{code: "begin\n  echo a\n\n  echo b\nend", out: "a\nb"},
	}},
	{name: "zsh-f", needs: "zsh", pkg: "zsh", argv: []string{"zsh", "-f"}, by: cell.ByShell, inputs: append([]input{
		{code: "for i in 1 2; do\n  echo $i\ndone", out: "1\n2"},
		{code: "cat <<E\none\n\n  two\nE", out: "one\n\n  two"},
		{code: "read x; echo \"[$x]\"", waits: cell.ForInput, answer: []string{"type", "word", "--enter"}, out: "word\n[word]"},
		{code: "echo 'a", waits: cell.ForContinuation, asks: ".*", answer: []string{"type", "b'", "--enter"}, out: "a\nb"},
	}, shellInputs...)},
	{name: "irb", needs: "irb", pkg: "irb", argv: []string{"irb", "-f"}, by: cell.ByLearned, or: cell.ByReady, inputs: []input{
		{code: "6*7", out: "=> 42"},
		{code: "nil", out: "=> nil"},
		{code: "puts \"a\\nb\"", out: "a\nb\n=> nil"},
		{code: "1/0", like: `\(irb\):.*divided by 0 \(ZeroDivisionError\)\n.*`},
		{code: "def f(n)\n  n+1\nend\nf(4)", out: "=> :f\n=> 5"},
		{code: "sleep 0.3; puts 'slow'", out: "slow\n=> nil", minimum: 300},
		{code: "puts 'bu'+'sy'; loop {}", busy: "busy"},
		{code: "x = gets", waits: cell.ForInput, asks: ".*", answer: []string{"type", "word", "--enter"}, out: "word\n=> \"word\\n\""},
		{code: "2+2", out: "=> 4"},
		{code: "exit! 3", by: cell.ByExit, exit: 3},
	}},
	{name: "node-lines", needs: "node", pkg: "nodejs", argv: []string{"node"}, by: cell.ByReady, or: cell.ByLearned, inputs: []input{
		{code: "for (const i of [1, 2]) {\n  if (i) {\n    console.log(i)\n  }\n}", out: "1\n2\nundefined"},
		{code: "const f = (n) => {\n\n  return n + 1\n}\nf(4)", out: "undefined\n5"},
		{code: "`a\nb`", out: "'a\\nb'"},
		{code: "({\n  a: 1,\n  b: [\n    2,\n  ],\n})", out: "{ a: 1, b: [ 2 ] }"},
	}},
	{name: "fzf-asks", needs: "fzf", pkg: "fzf", argv: []string{"bash", "--norc"}, by: cell.ByShell, inputs: []input{
		{code: "seq 1 50 | fzf -q 42", waits: cell.ForInput, asks: ".*", answer: []string{"keys", "Enter"}, out: "42"},
		{code: "seq 1 50 | fzf --height=10", waits: cell.ForInput, asks: ".*", answer: []string{"keys", "Up", "Enter"}, out: "2"},
		{code: "seq 1 50 | fzf", waits: cell.ForInput, asks: ".*", answer: []string{"keys", "Esc"}, exit: 130},
		{code: "(sleep 0.3; echo late) | fzf", waits: cell.ForInput, asks: ".*", answer: []string{"keys", "Esc"}, exit: 130},
		{code: "echo after", out: "after"},
	}},
}

// TestEditors is TestPrograms for them.
func TestEditors(t *testing.T) {
	need.Long(t, "starts six programs")
	w := newWorld(t)
	w.env = append(w.env, "LC_ALL=C.UTF-8", "fish_greeting=")
	for _, p := range append(editors, pyrepl()...) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if why := notYet[p.name]; why != "" {
				need.Apart(t, "den does not do this yet: %s", why)
			}
			need.Program(t, p.needs)
			mine := *w
			mine.t = t
			t.Cleanup(func() { mine.try("kill", p.name, "--grace", "1s") }) // it may have ended by itself
			mine.do(append([]string{"new", p.name}, p.argv...)...)
			for _, in := range p.inputs {
				mine.give(p, in)
			}
		})
	}
}

// notYet are the editors that den does not get right, and what it does.
var notYet = map[string]string{
	"pyrepl-lines": "lines are typed one by one, and the editor's own indentation is added to theirs",
}

// pyrepl are cells for a Python whose prompt is an editor of its own: 3.13 and
// later.
func pyrepl() []program {
	inputs := append(slices.Clone(pythonInputs[:len(pythonInputs)-1]),
		// 3.13.0 makes 1 of every exit status at its prompt.
		input{code: "import os; os._exit(3)", by: cell.ByExit, exit: 3})
	p := program{name: "pyrepl", needs: "python3.13", pkg: "a Python of 3.13 or later; Debian 12 has none", by: cell.ByLearned, or: cell.ByReady, inputs: inputs}
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/*/bin/python3")) // the pattern is right
	for _, path := range append([]string{"python3", "python3.14", "python3.13"}, found...) {
		if exec.Command(path, "-c", "import _pyrepl").Run() == nil {
			p.needs, p.argv = path, []string{path, "-q"}
		}
	}
	lines := p
	lines.name = "pyrepl-lines"
	lines.inputs = []input{
		{code: "def g(n):\n    if n:\n        return 1\n    return 2\n\nprint(g(0))", out: "2"},
		{code: "class A:\n    def f(self):\n        return 3\n\n    def g(self):\n        return 4\n\nprint(A().f() + A().g())", out: "7"},
	}
	return []program{p, lines}
}
