package session_test

import (
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
