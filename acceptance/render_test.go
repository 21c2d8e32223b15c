package acceptance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"
)

// moments is a program, and three things that are done to it, with what the
// screen then shows.
type moments struct {
	name  string
	argv  []string
	steps [3][]string // verb and words behind the session's name
	shows [3]string
}

// A dead session's picture at a past moment is, byte for byte, the one taken
// at that moment while it lived.
func TestPicturesOfThePastAreThoseOfTheTime(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "poem.txt")
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "%d the quick brown fox 漢字 jumps\n", i)
	}
	if err := os.WriteFile(text, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range []moments{
		{"sh", []string{"sh", "-c", `printf '\033[1;31mone\033[m\n'; read a; printf '\033]4;1;#00ff00\033\\\033[31mtwo\033[m ─┼─ 🚀\n'; read b; printf '\033[?1049h\033[2J\033[5 q\033[44m three '; read c`},
			[3][]string{{"keys", "Left"}, {"keys", "Enter"}, {"keys", "Enter"}}, [3]string{"one", "two", "three"}},
		{"vim", []string{"vim", "-u", "NONE", "-N", "--not-a-term", text},
			[3][]string{{"keys", "G"}, {"keys", ":", "s", "e", "t", "Space", "n", "u", "Enter"}, {"keys", "g", "g", "i", "X", "Y", "Z"}}, [3]string{"199 the", "200 199", "XYZ0 the"}},
		{"less", []string{"less", text}, [3][]string{{"keys", "Space"}, {"keys", "/", "5", "0", "Enter"}, {"keys", "G"}}, [3]string{"23 the", "50 the", "199 the"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			need.Program(t, m.argv[0])
			w := newWorld(t)
			dir := t.TempDir()
			w.do(append([]string{"new", "p", "--cols", "80", "--rows", "24", "--"}, m.argv...)...)
			w.do("wait", "p", "--ready", "-t", "30s")
			var seqs [3]string
			for i, step := range m.steps {
				w.do(append([]string{step[0], "p"}, step[1:]...)...)
				w.do("wait", "p", "--text", m.shows[i], "-t", "30s")
				w.do("wait", "p", "--stable", "300ms", "-t", "30s")
				ans := w.ask("screenshot", "p", "--cursor", "-o", filepath.Join(dir, fmt.Sprintf("live%d.png", i)))
				seqs[i] = fmt.Sprintf("%.0f", ans["seq"].(float64))
				w.do("screenshot", "p", "--cursor", "--frame", "--theme", "nord", "--seq", seqs[i], "-o", filepath.Join(dir, fmt.Sprintf("live%d.svg", i)))
			}
			w.do("kill", "p")
			for i, seq := range seqs {
				for _, form := range [][]string{{"png"}, {"svg", "--frame", "--theme", "nord"}} {
					path := filepath.Join(dir, fmt.Sprintf("dead%d.%s", i, form[0]))
					w.do(append([]string{"screenshot", "p", "--cursor", "--seq", seq, "-o", path}, form[1:]...)...)
					live, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("live%d.%s", i, form[0])))
					if err != nil {
						t.Fatal(err)
					}
					dead, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(live, dead) {
						t.Errorf("moment %d: the %s after event %s is not the one that was taken then", i+1, form[0], seq)
					}
				}
			}
		})
	}
}

// An export that is interrupted leaves nothing behind, wherever it was.
func TestInterruptedExportLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("new", "p", "--cols", "200", "--rows", "50", "--", "sh", "-c", `yes "$(head -c 150 /dev/zero | tr '\0' x)" | head -n 400000; echo that-is-all`)
	w.do("wait", "p", "--exit", "-t", "10m")
	for _, format := range []string{"gif", "mp4", "text", "cast"} {
		t.Run(format, func(t *testing.T) {
			if _, err := exec.LookPath("ffmpeg"); format == "mp4" && err != nil {
				need.Missing(t, "ffmpeg is not installed")
			}
			dir := t.TempDir()
			target := filepath.Join(dir, "film")
			if err := os.WriteFile(target, []byte("what was there"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(w.den, "export", "p", "--format", format, "--timing", "max", "--scale", "2", "--redact-tokens", "-o", target)
			cmd.Env = append(w.env, "TMPDIR="+dir)
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventuallyTrue(t, "the export has begun", func() bool { return len(entries(t, dir)) > 1 })
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 130 {
				t.Fatalf("exit: %v, want 130\n%s", err, said.String())
			}
			if left := entries(t, dir); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
			if got, err := os.ReadFile(target); err != nil || string(got) != "what was there" {
				t.Errorf("the file that was there is now %q, %v", got, err)
			}
		})
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// eventuallyTrue looks again and again until it is so.
func eventuallyTrue(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 2 min: %s", what)
		}
	}
}
