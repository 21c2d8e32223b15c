package vt_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"den/internal/screen/vt"
	"den/internal/testkit/need"
)

var update = flag.Bool("update", false, "write the golden screens anew from what tmux shows")

// recordings are what real programs wrote to an 80x24 terminal. Next to each
// stands the screen that tmux makes of the same bytes.
func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/programs/*.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	return files
}

func screenOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	term := vt.New(config(80, 24, 1000))
	term.Write(data)
	return string(term.AppendText(nil))
}

func TestProgramsLookAsInTmux(t *testing.T) {
	for _, file := range recordings(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".bin")
		t.Run(name, func(t *testing.T) {
			golden, err := os.ReadFile(strings.TrimSuffix(file, ".bin") + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			compareScreens(t, screenOf(t, file), strings.TrimRight(string(golden), "\n"))
		})
	}
}

// TestProgramsKeepTheLaws holds the laws against real output: cut into writes
// of several sizes, and dumped on the way.
func TestProgramsKeepTheLaws(t *testing.T) {
	for _, file := range recordings(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cfg := config(80, 24, 100)
		whole := vt.New(cfg)
		whole.Write(data)
		for _, n := range []int{1, 7, 64, 4096} {
			cut := vt.New(cfg)
			for i, p := 0, data; len(p) > 0; i++ {
				k := min(n, len(p))
				cut.Write(p[:k])
				p = p[k:]
				if i%97 == 0 {
					if d := dumpDiff(cut, cfg); d != "" {
						t.Fatalf("%s: %s", file, d)
					}
				}
			}
			if d := vt.Diff(whole, cut); d != "" {
				t.Errorf("%s, %d bytes at a time: %s", file, n, d)
			}
		}
	}
}

// TestProgramsInLiveTmux feeds every recording through a real tmux, and writes
// the golden screens with -update.
func TestProgramsInLiveTmux(t *testing.T) {
	need.Program(t, "tmux")
	for _, file := range recordings(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".bin")
		t.Run(name, func(t *testing.T) {
			den := screenOf(t, file)
			seen := tmuxScreen(t, file, den)
			if *update {
				if err := os.WriteFile(strings.TrimSuffix(file, ".bin")+".golden", []byte(seen+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			compareScreens(t, den, seen)
		})
	}
}

// TestDumpsPlayInTmux plays dumps, taken in the middle of recordings, on a
// terminal that is not den's and that shows something already.
func TestDumpsPlayInTmux(t *testing.T) {
	need.Program(t, "tmux")
	for i, file := range recordings(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".bin")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			term := vt.New(config(80, 24, 100))
			term.Write(data[:len(data)*(i%4+1)/4])
			played := append([]byte("dirt\x1b[5;9r\x1b[?6h\x1b[7m\x1b(0\x1b]2;cut"), term.Dump()...)
			tmp := filepath.Join(t.TempDir(), "dump")
			if err := os.WriteFile(tmp, played, 0o600); err != nil {
				t.Fatal(err)
			}
			den := string(term.AppendText(nil))
			compareScreens(t, den, tmuxScreen(t, tmp, den))
		})
	}
}

func compareScreens(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for y := range max(len(g), len(w)) {
		var a, b string
		if y < len(g) {
			a = g[y]
		}
		if y < len(w) {
			b = w[y]
		}
		if a != b {
			t.Errorf("row %d:\nden  %q\ntmux %q", y, a, b)
		}
	}
}

// tmuxScreen returns what a tmux pane shows after a file was written to it. It
// waits until that is what den expects, or no longer changes.
func tmuxScreen(t *testing.T, file, expected string) string {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("set -g status off\nset -g default-terminal xterm-256color\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	done := filepath.Join(dir, "done")
	socket := filepath.Join(dir, "s")
	tmux := func(args ...string) (string, error) {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", conf}, args...)...)
		cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8", "TERM=xterm-256color")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	script := "stty raw -echo; cat '" + abs + "'; : > '" + done + "'; exec sleep 60"
	if out, err := tmux("new-session", "-d", "-x", "80", "-y", "24", script); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() { tmux("kill-server") }) // Best effort.

	last, same := "", 0
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		out, err := tmux("capture-pane", "-p", "-e")
		if err != nil {
			t.Fatalf("tmux: %v: %s", err, out)
		}
		out = trimLines(plainCapture(out))
		_, err = os.Stat(done)
		written := err == nil
		if written && out == expected {
			return out
		}
		if out == last && written {
			if same++; same > 20 {
				return out
			}
		} else {
			last, same = out, 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	return last
}

var sequence = regexp.MustCompile("\x1b(\\[[0-9;:]*m|\\].*?\x1b\\\\)")

// plainCapture takes the styles out of a capture and draws the line graphics,
// which tmux gives as letters between SO and SI.
func plainCapture(s string) string {
	const letters = "`afgjklmnopqrstuvwxyz{|}~"
	graphics := []rune("◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
	drawn := false
	return strings.Map(func(r rune) rune {
		switch i := strings.IndexRune(letters, r); {
		case r == 0x0e || r == 0x0f:
			drawn = r == 0x0e
			return -1
		case drawn && i >= 0:
			return graphics[i]
		}
		return r
	}, sequence.ReplaceAllString(s, ""))
}
