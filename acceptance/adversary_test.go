package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"den/internal/cell"
	"den/internal/session"
	"den/internal/wire"
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
			if _, err := exec.LookPath(p.name); err != nil {
				t.Skipf("%s is not installed; make setup installs it", p.name)
			}
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
func (w *world) open(args ...string) session.Dir {
	w.t.Helper()
	w.do(append([]string{"new"}, args...)...)
	d, err := w.home.Find(args[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// runCells runs n cells that say their number, and returns their ids.
func runCells(t *testing.T, d session.Dir, n int, code string, exit bool) map[string]bool {
	t.Helper()
	c, err := d.Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids := map[string]bool{}
	for i := range n {
		var r cell.Result
		if err := c.Call(t.Context(), wire.MethodRun, wire.Run{Code: fmt.Sprintf(code, i), Timeout: 20 * time.Second}, &r); err != nil {
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
func checkCellEvents(w *world, d session.Dir, ids map[string]bool) {
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
// for byte: 100,000 lines, ten million with DEN_STRESS.
func TestCellLines(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed; make setup installs it")
	}
	lines := 100_000
	if fullLength() {
		lines = 10_000_000
	}
	w := newWorld(t)
	w.open("sh", "bash", "--norc")
	begun := time.Now()
	out := w.do("run", "sh", fmt.Sprintf("seq 1 %d", lines), "-t", "20m", "--max-lines", "2", "-j")
	took := time.Since(begun)
	var r cell.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("1\n[... %d lines left out ...]\n%d", lines-2, lines); r.Output != want || !r.Truncated || r.By != cell.ByShell {
		t.Errorf("%+v, want the output %q", r, want)
	}
	f, err := os.Open(r.OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	countLines(t, "the rendered output", f, lines, "\n")
	t.Logf("%d lines in %v", lines, took.Round(time.Millisecond))

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
