package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// TestInnerMarks brings marks into shells inside other programs.
func TestInnerMarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		outer, inner []string
	}{
		{"bash in bash", []string{"bash", "--norc"}, []string{"bash --norc"}},
		{"dash in bash", []string{"bash", "--norc"}, []string{"dash"}},
		{"bash in dash", []string{"dash"}, []string{"bash --norc"}},
		{"zsh in bash", []string{"bash", "--norc"}, []string{"zsh -f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, c.outer[0])
			s, _ := start(t, session.Options{}, c.outer...)
			r, err := s.Run(t.Context(), session.Run{Code: c.inner[0], Timeout: patience})
			if err != nil || !r.Asks() {
				t.Fatalf("%+v %v", r, err)
			}
			if _, err := s.Marks(t.Context(), patience); err != nil {
				t.Fatal(err)
			}
			expectExact(t, s)
			runCell(t, s, "exit 0")
			expectExact(t, s) // the outer one again
		})
	}
}

// TestInnerShellsAreNoticed expects marks that nobody asked for, in shells that the
// kernel sees: another one in the foreground, or in the place of the session's own.
func TestInnerShellsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, outer, inner string }{
		{"bash in bash", "bash", "bash --norc"},
		{"dash in bash", "bash", "dash"},
		{"bash in dash", "dash", "bash --norc"},
		{"zsh in bash", "bash", "env -u PS1 zsh -f"}, // it would show den's variables: see docs/rough-edges.md
		{"zsh instead of bash", "bash", "exec env -u PS1 zsh -f"},
		{"bash in zsh", "zsh", "bash --norc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			argv := map[string][]string{"bash": {"bash", "--norc"}, "dash": {"dash"}, "zsh": {"zsh", "-f"}}[c.outer]
			need.Program(t, "zsh")
			s, _ := start(t, session.Options{}, argv...)
			r, err := s.Run(t.Context(), session.Run{Code: c.inner, Timeout: patience})
			if err != nil || !r.Asks() || !r.InnerShell {
				t.Fatalf("%+v %v", r, err)
			}
			expectExact(t, s)
			shot, err := s.Snapshot(t.Context(), session.Now(), 200)
			if err != nil {
				t.Fatal(err)
			}
			if text := shot.Screen.PlainText(); strings.Contains(text, "__den") || strings.Contains(text, "stty") {
				t.Errorf("the screen:\n%s", text)
			}
			if strings.HasPrefix(c.inner, "exec") {
				return
			}
			runCell(t, s, "exit 0")
			expectExact(t, s) // the outer one again
		})
	}
}

// TestReplayedInnerMarks prints the marks of an inner shell once more when it is
// gone, as a recording of the session would: they end nothing.
func TestReplayedInnerMarks(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, "bash", "--norc")
	if r, err := s.Run(t.Context(), session.Run{Code: "bash --norc", Timeout: patience}); err != nil || !r.InnerShell {
		t.Fatalf("%+v %v", r, err)
	}
	runCell(t, s, "true")
	raw, err := os.ReadFile(filepath.Join(s.Dir.ShellFiles(), "den.bash"))
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := strings.Cut(strings.SplitN(string(raw), "__den_token='", 2)[1], "'")
	for _, where := range []string{"the inner one", "the outer one"} {
		code := fmt.Sprintf(`sh -c 'printf "before\n\033]133;D;9;den=%[1]s-in\007\033]133;A;den=%[1]s-in\007$ \033]133;B;den=%[1]s-in\007"; sleep 1; printf "\nafter\n"; exit 6'`, token)
		if r := runCell(t, s, code); r.Output != "before\n$ \nafter" || r.ExitCode == nil || *r.ExitCode != 6 {
			t.Errorf("in %s (session %s): %+v", where, m.Name, r)
		}
		if where == "the inner one" {
			runCell(t, s, "exit 0")
		}
	}
}

// expectExact runs cells whose ends and exit codes must be exact.
func expectExact(t *testing.T, s *session.Session) {
	t.Helper()
	for _, c := range []struct {
		code, output string
		exit         int
	}{
		{"echo here", "here", 0},
		{"sleep 0.3; echo slept", "slept", 0},
		{"sh -c 'exit 7'", "", 7},
		{"true", "", 0},
		{"cd /tmp; pwd", "/tmp", 0},
	} {
		r := runCell(t, s, c.code)
		if r.Status != cell.Done || r.By != cell.ByShell || r.Output != c.output || r.ExitCode == nil || *r.ExitCode != c.exit {
			t.Errorf("%s: %+v", c.code, r)
		}
	}
}

// TestNoMarksForAPassword checks that nothing is typed where a password is asked
// for, and that the cell which asks goes on.
func TestNoMarksForAPassword(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"without echo":          `read -s -p "Secret: " a; echo; echo "got ${#a}"`,
		"in line mode":          `stty -echo; printf 'Secret: '; head -n 1 | wc -c; stty echo`,
		"at another's terminal": `stty raw -echo; printf 'root password for host: '; dd bs=1 count=3 2>/dev/null | wc -c; stty sane`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, session.Options{}, "bash", "--norc")
			r, err := s.Run(t.Context(), session.Run{Code: code, Timeout: patience})
			if err != nil || !r.Asks() {
				t.Fatalf("%+v %v", r, err)
			}
			if _, err := s.Marks(t.Context(), patience); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "password") {
				t.Errorf("marks: %v", err)
			}
			r, err = s.Answer(t.Context(), line("abc"), session.Run{Timeout: patience, KeepWaiting: true})
			if err != nil || r.Status != cell.Done || !strings.ContainsAny(r.Output, "34") {
				t.Errorf("behind the password: %+v %v", r, err)
			}
		})
	}
}

// TestNoInnerMarks expects an error from a program that is no shell.
func TestNoInnerMarks(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "sh", "-c", "while read -p '> ' x; do :; done")
	if _, err := s.Wait(t.Context(), wire.Wait{Ready: true, Timeout: patience}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Marks(t.Context(), patience); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("got %v", err)
	}
}
