package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// unmarked are programs that print no marks, and code that makes OOPS there.
var unmarked = []struct {
	name        string
	argv        []string
	first       string // a cell before, which is released, or ""
	oops        string
	code, print string
}{
	{name: "python", argv: []string{"python3", "-q"}, oops: `open("OOPS","w");`, code: "1+1", print: "2"},
	{name: "dash", argv: []string{"env", "dash"}, oops: "touch OOPS;", code: "echo $((1+1))", print: "2"},
	{name: "bash", argv: []string{"env", "bash", "--norc"}, oops: "touch OOPS;", code: "echo $((1+1))", print: "2"},
	{name: "a released python", argv: []string{"bash", "--norc"}, first: "python3 -q", oops: `open("OOPS","w");`, code: "1+1", print: "2"},
	{name: "a released dash", argv: []string{"bash", "--norc"}, first: "dash", oops: "touch OOPS;", code: "echo $((1+1))", print: "2"},
}

// TestHalfLinesAreNotRun checks that a cell is refused where half a line stands
// in the input of a program without marks, and works when that is gone.
func TestHalfLinesAreNotRun(t *testing.T) {
	t.Parallel()
	for _, p := range unmarked {
		for _, known := range []bool{true, false} { // whether the prompt is known
			for name, keys := range map[string][]string{"at its end": nil, "at its start": {"C-a"}, "from the history": {"C-u", "Up"}} {
				if keys != nil && strings.HasSuffix(p.name, "dash") {
					continue // it has no editor
				}
				t.Run(p.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					need.Program(t, p.argv[0])
					s, dir := startUnmarked(t, p.argv, p.first)
					if known {
						runCell(t, s, p.code)
					}
					inputs := []wire.Input{text(p.oops)}
					if keys != nil {
						inputs = append(inputs, press(keys...))
					}
					for _, in := range inputs {
						if _, err := s.Input(t.Context(), in); err != nil {
							t.Fatal(err)
						}
					}
					r := runCell(t, s, p.code)
					if r.Status != cell.Failed || r.By != cell.ByRefusal || !strings.Contains(r.Output, "nothing was sent") {
						t.Errorf("got %+v", r)
					}
					if _, err := s.Input(t.Context(), press("C-e", "C-u")); err != nil {
						t.Fatal(err)
					}
					if r := runCell(t, s, p.code); r.Status != cell.Done || r.Output != p.print {
						t.Errorf("behind C-u: %+v", r)
					}
					if _, err := os.Stat(filepath.Join(dir, "OOPS")); err == nil {
						t.Error("a leftover was run")
					}
				})
			}
		}
	}
}

// TestHalfLinesAndInnerMarks does the same where the shell gets marks with its first
// cell: the half line is refused, or removed as any that stands in a shell with marks.
func TestHalfLinesAndInnerMarks(t *testing.T) {
	t.Parallel()
	for _, p := range unmarked {
		if strings.HasSuffix(p.name, "python") {
			continue
		}
		for name, known := range map[string]bool{"before its marks": false, "behind its marks": true} {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				need.Program(t, p.argv[0])
				s, dir := startMarks(t, "", p.argv, p.first)
				if known {
					runCell(t, s, p.code)
				}
				if _, err := s.Input(t.Context(), text(p.oops)); err != nil {
					t.Fatal(err)
				}
				r := runCell(t, s, p.code)
				if refused := r.By == cell.ByRefusal && strings.Contains(r.Output, "nothing was sent"); !refused && r.Output != p.print {
					t.Errorf("got %+v", r)
				}
				if _, err := s.Input(t.Context(), press("C-u")); err != nil {
					t.Fatal(err)
				}
				if r := runCell(t, s, p.code); r.Output != p.print || r.By != cell.ByShell {
					t.Errorf("behind C-u: %+v", r)
				}
				if _, err := os.Stat(filepath.Join(dir, "OOPS")); err == nil {
					t.Error("a leftover was run")
				}
			})
		}
	}
}

// startUnmarked starts a program in a directory of its own, and waits for its
// prompt. It gets no marks, either.
func startUnmarked(t *testing.T, argv []string, first string) (s *session.Session, dir string) {
	t.Helper()
	return startMarks(t, home.MarksOff, argv, first)
}

// startMarks is startUnmarked with or without marks that are brought unasked.
func startMarks(t *testing.T, marks string, argv []string, first string) (s *session.Session, dir string) {
	t.Helper()
	dir = t.TempDir()
	shell := append([]string{"sh", "-c", `cd "$0" && exec "$@"`, dir}, argv...)
	if first != "" {
		shell = argv
	}
	s, _ = startWith(t, session.Options{}, home.Spec{Marks: marks}, shell...)
	if first != "" {
		runCell(t, s, "cd "+dir)
		if r, err := s.Run(t.Context(), session.Run{Code: first, Timeout: patience}); err != nil || !r.Asks() {
			t.Fatalf("%+v %v", r, err)
		}
		if _, err := s.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.Wait(t.Context(), wire.Wait{Regex: ptr(`(\$|>>>) $`), Ready: true, Timeout: patience}); err != nil || r.Status != wire.WaitMatched {
		t.Fatalf("%+v %v", r, err)
	}
	return s, dir
}

// TestInputBetweenTheLinesOfACell checks that a cell which is typed line by line
// stops where somebody types in between.
func TestInputBetweenTheLinesOfACell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		argv       []string
		oops, code string
	}{
		{"dash", []string{"dash"}, "touch OOPS;", "echo on''e; cat gate\necho two"},
		{"busybox", []string{"busybox", "sh"}, "touch OOPS;", "echo on''e; cat gate\necho two"},
		{"bash without brackets", []string{"bash", "--norc"}, "touch OOPS;", "echo on''e; cat gate\necho two"},
		{"python", []string{"python3", "-q"}, `open("OOPS","w");`, "print('on''e'); _ = open('gate').read()\nprint('two')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, c.argv[0])
			s, dir := startUnmarkedOrShell(t, c.argv)
			if err := syscall.Mkfifo(filepath.Join(dir, "gate"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.argv[0] == "bash" {
				runCell(t, s, "bind 'set enable-bracketed-paste off'")
			}
			fired, err := s.Fire(t.Context(), c.code, 0)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := s.Wait(t.Context(), wire.Wait{Regex: ptr(`(?m)^one`), Timeout: patience}); err != nil || r.Status != wire.WaitMatched {
				t.Fatalf("%+v %v", r, err)
			}
			if _, err := s.Input(t.Context(), text(c.oops)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "gate"), []byte("open\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := s.Await(t.Context(), fired.CellID, session.Run{Timeout: patience, KeepWaiting: true})
			if err != nil || r.By != cell.ByRefusal || !strings.Contains(r.Output, "the rest was not sent") || !strings.HasPrefix(r.Output, "one") {
				t.Errorf("got %+v %v", r, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "OOPS")); err == nil {
				t.Error("a leftover was run")
			}
		})
	}
}

// TestAnswersBetweenTheLinesOfACell checks that what a command has read is no
// leftover.
func TestAnswersBetweenTheLinesOfACell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		argv []string
		code string
		in   wire.Input
	}{
		{"dash", []string{"dash"}, "read a\necho got $a", line("yes")},
		{"busybox", []string{"busybox", "sh"}, "read a\necho got $a", line("yes")},
		{"bash without brackets", []string{"bash", "--norc"}, "read a\necho got $a", line("yes")},
		{"bash without brackets, a key", []string{"bash", "--norc"}, "read -n 3 a\necho got $a", press("y", "e", "s")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, c.argv[0])
			s, _ := startShell(t, c.argv)
			if c.argv[0] == "bash" {
				runCell(t, s, "bind 'set enable-bracketed-paste off'")
			}
			for range 3 {
				r, err := s.Run(t.Context(), session.Run{Code: c.code, Timeout: patience})
				if err != nil || !r.Asks() {
					t.Fatalf("%+v %v", r, err)
				}
				if r, err = s.Answer(t.Context(), c.in, session.Run{Timeout: patience, KeepWaiting: true}); err != nil || r.Status != cell.Done || !strings.HasSuffix(r.Output, "got yes") {
					t.Fatalf("%+v %v", r, err)
				}
			}
		})
	}
}

// TestInterruptedCellSendsNoMore interrupts the first line of a cell that is
// typed line by line.
func TestInterruptedCellSendsNoMore(t *testing.T) {
	t.Parallel()
	s, dir := startShell(t, []string{"dash"})
	fired, err := s.Fire(t.Context(), "sleep 1000\ntouch OOPS", 0)
	if err != nil {
		t.Fatal(err)
	}
	expectText(t, s, "sleep 1000")
	if r, err := s.Interrupt(t.Context(), session.Run{Timeout: patience}); err != nil || r.CellID != fired.CellID || !r.Interrupted || r.By != cell.ByInt {
		t.Errorf("got %+v %v", r, err)
	}
	expectClean(t, s, dir)
}

// startUnmarkedOrShell starts a shell, or Python, in a directory of its own.
func startUnmarkedOrShell(t *testing.T, argv []string) (s *session.Session, dir string) {
	t.Helper()
	if argv[0] == "python3" {
		return startUnmarked(t, argv, "")
	}
	return startShell(t, argv)
}
