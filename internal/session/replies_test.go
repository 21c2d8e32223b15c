package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// queries make the terminal reply: its attributes, the cursor, a status, and
// colours, which read as a path to a shell.
const queries = `\033[c\033[>c\033[6n\033[5n\033]11;?\007\033]11;?\007`

// TestRepliesNobodyReads checks that what the terminal replies to a program
// which has ended is no input of the shell: the next line that is typed, by no
// cell, is that line and nothing else.
func TestRepliesNobodyReads(t *testing.T) {
	t.Parallel()
	for _, argv := range append(shellsWithMarks, []string{"busybox", "sh"}) {
		for _, c := range []struct{ name, code string }{
			{"of the shell itself", "printf '" + queries + "'"},
			{"of a program", "cat queries"},
			{"of a program that ends last", "sh -c 'cat queries; printf x'"},
			{"of one after another", "cat queries; cat queries; sleep 0.01"},
			{"many", "cat queries queries queries queries queries queries queries queries"},
		} {
			t.Run(argv[0]+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				need.Program(t, argv[0])
				s, dir := startShell(t, argv)
				writeQueries(t, dir)
				for i := range 3 {
					runCell(t, s, c.code)
					expectTyped(t, s, fmt.Sprintf("echo ty''ped %d", i), fmt.Sprintf("typed %d", i))
				}
			})
		}
	}
}

// writeQueries writes the queries to a file.
func writeQueries(t *testing.T, dir string) {
	t.Helper()
	raw := strings.NewReplacer(`\033`, "\x1b", `\007`, "\a").Replace(queries)
	if err := os.WriteFile(filepath.Join(dir, "queries"), []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
}

// expectTyped types a command, and expects that it ran as it was typed.
func expectTyped(t *testing.T, s *session.Session, command, output string) {
	t.Helper()
	if _, err := s.Input(t.Context(), line(command)); err != nil {
		t.Fatal(err)
	}
	expression := "(?m)^" + output + `\s*$`
	r, err := s.Wait(t.Context(), wire.Wait{Regex: &expression, Timeout: patience})
	if err != nil || r.Status != wire.WaitMatched {
		t.Fatalf("%+v %v", r, err)
	}
	shot, err := s.Snapshot(t.Context(), session.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if text := shot.Screen.PlainText(); strings.Contains(text, "not found") || strings.Contains(text, "rgb:") || strings.Contains(text, "62;") {
		t.Fatalf("the screen shows a reply:\n%s", text)
	}
}

// TestRepliesToTheBackground checks that a shell at its prompt is not typed the
// replies to a command in the background.
func TestRepliesToTheBackground(t *testing.T) {
	t.Parallel()
	for _, argv := range append(shellsWithMarks, []string{"busybox", "sh"}) {
		if argv[0] == "fish" {
			continue // its editor may ask: it is sent all replies, and paints over what others print
		}
		t.Run(argv[0], func(t *testing.T) {
			t.Parallel()
			need.Program(t, argv[0])
			s, dir := startShell(t, argv)
			writeQueries(t, dir)
			runCell(t, s, "mkfifo gate")
			runCell(t, s, `sh -c 'cat gate queries; echo as""ked' &`)
			if err := os.WriteFile(filepath.Join(dir, "gate"), []byte("open\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			expectText(t, s, "asked")
			expectTyped(t, s, "echo ty''ped", "typed")
		})
	}
}

// TestRepliesInPython checks that a REPL without marks is not typed the replies
// to what a cell printed.
func TestRepliesInPython(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	s, _ := start(t, session.Options{}, "python3", "-q")
	for i := range 3 {
		runCell(t, s, `print("`+queries+`")`)
		if r := runCell(t, s, fmt.Sprintf("%d+1", i)); r.Output != fmt.Sprint(i+1) {
			t.Fatalf("got %+v", r)
		}
	}
}

// asks reads the reply to a query, and prints it.
const asks = `
import os, sys, termios, tty, time
def ask(early, pause):
    old = termios.tcgetattr(0)
    if early: os.write(1, b'\033[6n')
    time.sleep(pause)
    tty.setraw(0, termios.TCSADRAIN)
    if not early: os.write(1, b'\033[6n')
    got = b''
    while not got.endswith(b'R'): got += os.read(0, 1)
    termios.tcsetattr(0, termios.TCSADRAIN, old)
    print('got', got.startswith(b'\033['), got[-1:])
ask(sys.argv[1] == 'early', float(sys.argv[2]))
`

// TestRepliesToPrograms checks that programs get the replies that they read,
// whenever they set up the terminal for it.
func TestRepliesToPrograms(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	for _, argv := range append(shellsWithMarks, []string{"busybox", "sh"}, []string{"python3", "-q"}) {
		t.Run(argv[0], func(t *testing.T) {
			t.Parallel()
			need.Program(t, argv[0])
			script := filepath.Join(t.TempDir(), "ask.py")
			if err := os.WriteFile(script, []byte(asks), 0o600); err != nil {
				t.Fatal(err)
			}
			s, _ := start(t, session.Options{}, argv...)
			for _, how := range []string{"late 0", "early 0", "early 0.05", "early 0.3"} {
				code := "python3 " + script + " " + how
				if argv[0] == "python3" {
					code = `import os; _ = os.system("` + code + `")`
				}
				for range 3 {
					if r := runCell(t, s, code); !strings.HasSuffix(r.Output, "got True b'R'") || r.WaitingFor != "" {
						t.Fatalf("%s: %+v", how, r)
					}
				}
			}
		})
	}
}

// TestRepliesToTheShell checks that a shell which asks itself gets the reply.
func TestRepliesToTheShell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv []string
		code string
	}{
		{[]string{"bash", "--norc"}, `IFS='[;' read -s -d R -p $'\033[6n' x row col; echo "row $row"`},
		{[]string{"bash", "--norc"}, `stty raw -echo; printf '\033[6n'; IFS='[;' read -d R x row col; stty sane; echo "row $row"`},
		{[]string{"zsh", "-f"}, `printf '\033[6n'; IFS='[;' read -s -d R x row col; echo "row $row"`},
		{[]string{"dash"}, `stty raw -echo; printf '\033[6n'; r=$(dd bs=1 count=3 2>/dev/null); stty sane; echo "row ${#r}"`},
	} {
		t.Run(c.argv[0], func(t *testing.T) {
			t.Parallel()
			need.Program(t, c.argv[0])
			s, _ := start(t, session.Options{}, c.argv...)
			for range 3 {
				if r := runCell(t, s, c.code); !strings.Contains(r.Output, "row ") || strings.HasSuffix(r.Output, "row ") {
					t.Fatalf("%s: %+v", c.code, r)
				}
			}
		})
	}
}

// TestRepliesToEditors checks that full-screen programs get the replies to what
// they ask at their start.
func TestRepliesToEditors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, start, shows, ask, want, end string }{
		{"vim", "vim -u NONE -N", "~", ":echo v:termresponse", ">1;390;0c", ":q!"},
		{"tmux", "tmux -S socket -f /dev/null new sh", "0:sh*", "tmux display -p '#{client_termtype}'", "den(", "exit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, c.name)
			s, _ := startShell(t, []string{"bash", "--norc"})
			r, err := s.Run(t.Context(), session.Run{Code: c.start, Timeout: patience})
			if err != nil || !r.Asks() {
				t.Fatalf("%+v %v", r, err)
			}
			expectText(t, s, c.shows)
			if _, err := s.Input(t.Context(), line(c.ask)); err != nil {
				t.Fatal(err)
			}
			expectText(t, s, c.want)
			if _, err := s.Input(t.Context(), line(c.end)); err != nil {
				t.Fatal(err)
			}
			if r, err = s.Await(t.Context(), r.CellID, session.Run{Timeout: patience, KeepWaiting: true}); err != nil || r.Status != cell.Done {
				t.Fatalf("%+v %v", r, err)
			}
		})
	}
}

// expectText waits for text on the screen.
func expectText(t *testing.T, s *session.Session, text string) {
	t.Helper()
	if r, err := s.Wait(t.Context(), wire.Wait{Text: &text, Timeout: patience}); err != nil || r.Status != wire.WaitMatched {
		t.Fatalf("%q: %+v %v", text, r, err)
	}
}
