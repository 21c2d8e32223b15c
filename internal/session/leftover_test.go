package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// shellsWithMarks are the shells that tell where their input begins.
var shellsWithMarks = [][]string{{"bash", "--norc"}, {"zsh", "-f"}, {"fish"}, {"dash"}}

// leftovers are ways to leave something in a shell's input. OOPS stands for a
// file that must not be made.
var leftovers = []struct {
	name  string
	only  string // the shell that has it, or ""
	setup string // a cell before, or ""
	in    []wire.Input
}{
	{name: "nothing"},
	{name: "text at the end", in: []wire.Input{text("touch OOPS; ")}},
	{name: "text that wraps", in: []wire.Input{text("touch OOPS; : " + strings.Repeat("w", 150) + " ;")}},
	{name: "text that fills the row", in: []wire.Input{text("touch OOPS;" + strings.Repeat(" ", 67))}},
	{name: "text longer than the screen", in: []wire.Input{text("touch OOPS; : " + strings.Repeat("w ", 1500) + ";")}, only: "bash zsh dash"}, // fish takes half a minute to read it
	{name: "cursor at the start", in: []wire.Input{text(" ; touch OOPS"), press("C-a")}},
	{name: "cursor at the start of text that wraps", in: []wire.Input{text(" ; touch OOPS; : " + strings.Repeat("w", 150)), press("C-a")}},
	{name: "cursor in the middle", in: []wire.Input{text("touch OOPS ;  ; touch OOPS"), press("Left*13")}},
	{name: "blanks only", in: []wire.Input{text("   ")}},
	{name: "an open single quote", in: []wire.Input{line("echo 'open")}},
	{name: "an open double quote with text behind it", in: []wire.Input{line(`echo "open`), text(`"; touch OOPS;`)}},
	{name: "half a loop", in: []wire.Input{line("for i in 1 2"), text("touch OOPS;")}},
	{name: "a here-document", in: []wire.Input{line("cat <<E"), line("$(touch OOPS)")}, only: "bash zsh dash"},
	{name: "a backslash at the end", in: []wire.Input{line(`touch OOPS \`)}},
	{name: "a pipe at the end", in: []wire.Input{line("touch OOPS |")}, only: "bash zsh dash"},
	{name: "a line that was entered, and half of the next", in: []wire.Input{line("true"), text("touch OOPS;")}},
	{name: "reverse search", setup: ": touch OOPS; true", in: []wire.Input{press("C-r"), text("true")}, only: "bash zsh"},
	{name: "a history entry", setup: ": OOPS", in: []wire.Input{press("Up"), press("C-a")}, only: "bash zsh fish"},
	{name: "a key that waits for the next one", in: []wire.Input{press("C-v")}, only: "bash zsh dash"},
	{name: "an argument for the next key", in: []wire.Input{press("M-3")}, only: "bash zsh"},
	{name: "an unknown escape sequence, cut off", in: []wire.Input{{Raw: []byte("\x1b[1")}}},
	{name: "a paste without an end", in: []wire.Input{{Raw: []byte("\x1b[200~touch OOPS\r")}}, only: "bash zsh fish"},
	{name: "a completion that asks", in: []wire.Input{text("a"), press("Tab"), press("Tab")}, only: "bash"},
	{name: "a menu of completions", in: []wire.Input{text("ls /usr/"), press("Tab"), press("Tab")}, only: "zsh fish"},
	{name: "vi mode, command mode", setup: "set -o vi", in: []wire.Input{text("touch OOPS"), press("Esc")}, only: "bash"},
	{name: "vi mode, an empty line in command mode", setup: "set -o vi", in: []wire.Input{press("Esc")}, only: "bash"},
	{name: "vi mode of zsh, command mode", setup: "bindkey -v", in: []wire.Input{text("touch OOPS"), press("Esc")}, only: "zsh"},
	{name: "vi mode of zsh, an operator that waits", setup: "bindkey -v", in: []wire.Input{press("Esc"), text("c")}, only: "zsh"},
	{name: "vi mode of fish, command mode", setup: "set -g fish_key_bindings fish_vi_key_bindings", in: []wire.Input{text("touch OOPS"), press("Esc")}, only: "fish"},
	{name: "text that a cell puts into the next line", setup: "print -z 'touch OOPS; '", only: "zsh"},
	{name: "text that a cell puts into the next line, shown late", setup: "late() sleep 0.5; zle -N zle-line-init late; print -z 'touch OOPS; '", only: "zsh"},
	{name: "several texts that a cell puts into the next lines", setup: "print -z 'touch OOPS; '; print -z 'touch OOPS; '", only: "zsh"},
	{name: "unread replies of the terminal", setup: `for i in 1 2 3 4 5 6; do printf "\033[c"; done`, only: "bash zsh dash"},
	{name: "unread replies of the terminal, in fish", setup: `for i in 1 2 3 4 5 6; printf "\033[c"; end`, only: "fish"},
	{name: "unread replies of the terminal in vi mode", setup: `set -o vi; printf "\033[c\033[6n\033]11;?\a"`, only: "bash"},
	{name: "input while a command runs", setup: "", in: []wire.Input{line("sleep 0.3"), text("touch OOPS;")}},
}

// A signal to a shell at its prompt makes it discard its line, a moment later:
// code that was typed by then would lose its beginning.
func TestCellAfterASignal(t *testing.T) {
	t.Parallel()
	for _, argv := range shellsWithMarks {
		t.Run(argv[0], func(t *testing.T) {
			t.Parallel()
			need.Program(t, argv[0])
			s, dir := startShell(t, argv)
			for range 20 {
				if _, err := s.Signal(t.Context(), "INT"); err != nil {
					t.Fatal(err)
				}
				if r := runCell(t, s, "echo clean"); r.Status != cell.Done || r.Output != "clean" {
					t.Fatalf("got %+v", r)
				}
			}
			expectClean(t, s, dir)
		})
	}
}

// TestInnerShellOfFish checks that what empties the input of fish is not typed
// into a shell inside of it.
func TestInnerShellOfFish(t *testing.T) {
	t.Parallel()
	need.Program(t, "fish")
	s, _ := start(t, session.Options{}, "fish")
	r, err := s.Run(t.Context(), session.Run{Code: "dash", Timeout: patience})
	if err != nil || !r.Asks() {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := s.Marks(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Input(t.Context(), text("echo half")); err != nil {
			t.Fatal(err)
		}
		if r := runCell(t, s, "echo clean"); r.Status != cell.Done || r.Output != "clean" {
			t.Fatalf("got %+v", r)
		}
	}
	shot, err := s.Snapshot(t.Context(), session.Now(), 0)
	if err != nil || strings.Contains(shot.Screen.PlainText(), "5379") {
		t.Errorf("the screen shows a key of fish: %v\n%s", err, shot.Screen.PlainText())
	}
}

func text(s string) wire.Input          { return wire.Input{Text: &s} }
func line(s string) wire.Input          { return wire.Input{Text: &s, Enter: true} }
func press(chords ...string) wire.Input { return wire.Input{Keys: chords} }

// TestLeftoversAreNotRun checks that a cell runs what it was given and nothing
// else, whatever stands in the shell's input.
func TestLeftoversAreNotRun(t *testing.T) {
	t.Parallel()
	for _, argv := range shellsWithMarks {
		t.Run(argv[0], func(t *testing.T) {
			t.Parallel()
			need.Program(t, argv[0])
			for _, c := range leftovers {
				if c.only != "" && !strings.Contains(" "+c.only+" ", " "+argv[0]+" ") {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					s, dir := startShell(t, argv)
					if c.setup != "" {
						runCell(t, s, c.setup)
					}
					for _, in := range c.in {
						if _, err := s.Input(t.Context(), in); err != nil {
							t.Fatal(err)
						}
					}
					expectClean(t, s, dir)
				})
			}
		})
	}
}

// startShell starts a shell in a directory of its own and runs a first cell.
func startShell(t *testing.T, argv []string) (s *session.Session, dir string) {
	t.Helper()
	s, _ = start(t, session.Options{}, argv...)
	dir = t.TempDir()
	runCell(t, s, "cd "+dir)
	return s, dir
}

func runCell(t *testing.T, s *session.Session, code string) cell.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := s.Run(ctx, session.Run{Code: code, Timeout: patience, KeepWaiting: true})
	if err != nil {
		t.Fatalf("run %q: %v", code, err)
	}
	return r
}

// expectClean runs a cell twice, and expects its own output and no other
// effect.
func expectClean(t *testing.T, s *session.Session, dir string) {
	t.Helper()
	for range 2 {
		begun := time.Now()
		r := runCell(t, s, "echo clean")
		if r.Status != cell.Done || r.Output != "clean" || r.ExitCode == nil || *r.ExitCode != 0 || r.By != cell.ByShell {
			t.Errorf("got %+v after %v", r, time.Since(begun))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "OOPS")); err == nil {
		t.Error("a leftover was run")
	}
}
