package session_test

import (
	"strings"
	"testing"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// What den does before a cell leaves the status of the command before as it is,
// wherever the keys went that others pressed meanwhile.
func TestStatusOfTheCommandBefore(t *testing.T) {
	t.Parallel()
	for _, argv := range shellsWithMarks {
		status := "echo $?"
		if argv[0] == "fish" {
			status = "echo $status"
		}
		for _, c := range []struct {
			name, code, ready, want string
			keys                    []wire.Input
		}{
			{"Ctrl-C that the program takes", `sh -c 'trap "exit 7" INT; echo listens; while :; do sleep 0.1; done'`, "listens", "7", []wire.Input{press("C-c")}},
			{"the end of its input", `sh -c 'echo reads; cat; exit 3'`, "reads", "3", []wire.Input{press("C-d")}},
			{"text and the end of its input", `sh -c 'echo reads; cat; exit 4'`, "reads", "4", []wire.Input{text("half\r"), press("C-d")}},
			{"Ctrl-\\", `sh -c 'trap "exit 8" QUIT; echo listens; while :; do sleep 0.1; done'`, "listens", "8", []wire.Input{press("C-\\")}},
		} {
			t.Run(argv[0]+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				need.Program(t, argv[0])
				s, _ := start(t, session.Options{}, argv...)
				runCell(t, s, "true")
				if _, err := s.Input(t.Context(), line(c.code)); err != nil {
					t.Fatal(err)
				}
				awaitText(t, s, "\n"+c.ready)
				for _, in := range c.keys {
					if _, err := s.Input(t.Context(), in); err != nil {
						t.Fatal(err)
					}
				}
				if r := runCell(t, s, status); r.Status != cell.Done || r.Output != c.want {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

func awaitText(t *testing.T, s *session.Session, text string) {
	t.Helper()
	text = "(?m)^" + strings.TrimPrefix(text, "\n") + "$"
	r, err := s.Wait(t.Context(), wire.Wait{Regex: &text, Timeout: patience})
	if err != nil || !r.Matched {
		t.Fatalf("%+v %v", r, err)
	}
}

// A shell whose prompts have lost their marks is told with less certainty, and
// runs the next cells all the same.
func TestShellThatLosesItsPrompt(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	runCell(t, s, "true")
	r := runCell(t, s, "unset PROMPT_COMMAND PS1 PS0")
	if r.Status != cell.Done || r.Asks() || r.Certainty == cell.Exact {
		t.Fatalf("%+v", r)
	}
	for range 3 {
		if r := runCell(t, s, "echo next"); r.Status != cell.Done || r.Output != "next" || r.Certainty == cell.Exact {
			t.Errorf("%+v", r)
		}
	}
}

// sh tells of its prompt alone. Without one it may as well ask something.
func TestShellThatOnlyHadAPrompt(t *testing.T) {
	t.Parallel()
	need.Program(t, "dash")
	s, _ := start(t, session.Options{}, "dash")
	runCell(t, s, "true")
	r, err := s.Run(t.Context(), session.Run{Code: "PS1=", Timeout: patience})
	if err != nil || r.Certainty == cell.Exact {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r, err := s.Run(t.Context(), session.Run{Code: "echo next", Timeout: cellPatience})
		if err != nil || r.Status != cell.Done || r.Output != "next" {
			t.Fatalf("%+v %v", r, err)
		}
	}
}

// Prompts of all kinds, and a shell that takes no Ctrl-C, do not keep the next cell
// from running.
func TestShellsThatAreOdd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shell, setup string
		then         []wire.Input
	}{
		{"bash", `trap "" INT`, nil},
		{"bash", `trap "" INT`, []wire.Input{press("C-c")}},
		{"bash", `trap "" INT`, []wire.Input{text("touch OOPS;")}},
		{"bash", `trap "" INT; PS1='\s\e[s\e[50Cright\e[u$ '`, []wire.Input{press("C-c")}},
		{"bash", `PS1='first line\nsecond$ '`, []wire.Input{text("touch OOPS;")}},
		{"bash", `PS1='\e[s\e[60Cright\e[u$ '`, []wire.Input{line("true")}},
		{"bash", `set -o vi`, []wire.Input{text("touch OOPS;"), press("Esc")}},
		{"bash", `PS1=`, []wire.Input{text("touch OOPS;")}},
		{"zsh", `trap "" INT`, []wire.Input{press("C-c")}},
		{"zsh", `RPROMPT=right`, []wire.Input{line("true")}},
		{"zsh", `bindkey -v; PS1=$'one\ntwo %# '`, []wire.Input{text("touch OOPS;"), press("Esc")}},
		{"zsh", `PS1=`, []wire.Input{text("touch OOPS;")}},
		{"dash", `trap "" INT`, []wire.Input{press("C-c")}},
	} {
		t.Run(c.shell+"/"+c.setup, func(t *testing.T) {
			t.Parallel()
			need.Program(t, c.shell)
			argv := map[string][]string{"bash": {"bash", "--norc"}, "zsh": {"zsh", "-f"}, "dash": {"dash"}}[c.shell]
			s, dir := startShell(t, argv)
			if r := runCell(t, s, c.setup); r.Status != cell.Done {
				t.Fatalf("%+v", r)
			}
			for _, in := range c.then {
				if _, err := s.Input(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			expectClean(t, s, dir)
		})
	}
}

// Where a key may have put the editor of such a shell into another state, the
// error names the way out, and it works.
func TestWayOutOfARefusal(t *testing.T) {
	t.Parallel()
	s, dir := startShell(t, []string{"bash", "--norc"})
	runCell(t, s, `trap "" INT`)
	for _, in := range []wire.Input{text("touch OOPS; true"), press("C-a")} {
		if _, err := s.Input(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	r := runCell(t, s, "echo clean")
	if r.By != cell.ByRefusal || !strings.Contains(r.Output, "den keys Enter") {
		t.Fatalf("%+v", r)
	}
	for _, in := range []wire.Input{press("C-e"), press("C-u"), press("Enter")} {
		if _, err := s.Input(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	expectClean(t, s, dir)
}

// A program that prints what looks like its prompt, while it waits for something
// else, is not done.
func TestProgramThatPrintsItsPrompt(t *testing.T) {
	t.Parallel()
	need.Program(t, "node")
	s, _ := start(t, session.Options{}, "node")
	for range 3 {
		runCell(t, s, "1+1")
		if r := runCell(t, s, `process.stdout.write("> "); await new Promise(r => setTimeout(r, 400)); "the end"`); r.Status != cell.Done || !strings.Contains(r.Output, "the end") {
			t.Errorf("%+v", r)
		}
		if r := runCell(t, s, "2+3"); r.Status != cell.Done || r.Output != "5" {
			t.Errorf("%+v", r)
		}
	}
}
