package session_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
	"den/internal/testkit/need"
	"den/internal/testkit/servertest"
)

// A statement is code whose output is known.
type statement struct {
	code, out string
	only      string // the shells that have it, or ""
	status    int    // if not 0, that of the cell: the statement is the last
	answer    string // to what it asks, or ""
}

// A language is what a program understands.
type language struct {
	prints, leavings []statement
	glue             string // stands between statements
	hasStatus        bool   // cells have exit codes
}

var shellLanguage = language{prints: prints, leavings: leavings, glue: "; ", hasStatus: true}

// prints are statements that print, line by line.
var prints = []statement{
	{code: `echo one`, out: "one\n"},
	{code: `printf 'two words  and blanks  \n'`, out: "two words  and blanks  \n"},
	{code: `seq 1 60`, out: numbers(60)},
	{code: `printf '\tindented\n\t\ttwice\nall:\tdep\n'`, out: "\tindented\n\t\ttwice\nall:\tdep\n"},
	{code: `printf 'a\tb\t\tc\t\n'`, out: "a\tb\t\tc\t\n"},
	{code: `printf '%0200d\n' 7`, out: strings.Repeat("0", 199) + "7\n"},
	{code: `printf '%077d\tx\ty\tz\n' 7`, out: strings.Repeat("0", 76) + "7\tx\ty\tz\n"},
	{code: `printf '%080d\n' 7`, out: strings.Repeat("0", 79) + "7\n"},
	{code: `printf '\n\nbehind empty lines\n'`, out: "\n\nbehind empty lines\n"},
	{code: `printf '日本 é\n'`, out: "日本 é\n"},
	{code: `printf '\033[31mred\033[0m\n'`, out: "red\n"},
	{code: `printf '10%%\r50%%\r100%%\n'`, out: "100%\n"},
	{code: `sh -c 'echo child; sleep 0.01; echo late'`, out: "child\nlate\n"},
	{code: `printf '\033[?1049h\033[Hfull screen\033[?1049l'`},
	{code: `(echo inside; false) | cat`, out: "inside\n", only: "bash zsh dash far"},
	{code: `stty echo; printf 'name? '; read x; echo "[$x]"`, answer: "bob", out: "name? bob\n[bob]\n", only: "bash zsh dash far"},
}

// near are the shells whose terminal is this machine's: den mends it.
const near = "bash zsh fish dash"

// leavings are statements that end a cell, and leave the terminal in a state that
// must not matter to the next one.
var leavings = []statement{
	{code: `true`},
	{code: `printf 'no newline'`, out: "no newline"},
	{code: `printf 'done\r'`, out: "done"},
	{code: `printf '\033[?1049h'`}, {code: `printf '\033[?47h'`}, {code: `printf '\033[?1047h\033[3;3H'`},
	{code: `printf '\033[?1049h\033[Hon the other screen'`, out: "on the other screen"},
	{code: `sh -c 'printf "\033[?1049h\033[5;10r\033[?1h\033=\033[?25l\033[>31u"; kill -9 $$'`, status: 137},
	{code: `printf '\033[5;10r'`}, {code: `printf '\033[?69h\033[10;20s'`}, {code: `printf '\033[2;3r\033[?6h'`},
	{code: `printf '\033[4h'`}, {code: `printf '\033[20h'`}, {code: `printf '\033[?7l'`}, {code: `printf '\033[?25l'`},
	{code: `printf '\033(0'`}, {code: `printf '\033)0\016'`}, {code: `printf '\033N'`}, {code: `printf '\033[1"q'`},
	{code: `printf '\033['`}, {code: `printf '\033]0;abc'`}, {code: `printf '\033'`}, {code: `printf '\033P1;2'`}, {code: `printf '\033_Gabc'`}, {code: `printf '\342\202'`, out: "\uFFFD"},
	{code: `printf '\033[?2026h'`}, {code: `printf '\033[?1003h\033[?1006h\033[?1004h'`}, {code: `printf '\033[?2004h'`}, {code: `printf '\033[3g'`},
	{code: `printf '\033#6'`}, {code: `printf '\033[7m'`}, {code: `printf '\033[?5h'`},
	{code: `printf '\033[H'`}, {code: `printf '\033[3A'`},
	{code: `stty raw`, only: near}, {code: `stty -echo`, only: near}, {code: `stty raw -echo`, only: near},
	{code: `f() { echo before; printf '%s' "${PS1@P}"; sleep 0.05; echo; echo after; return 6; }; f`, out: "before\n$ \nafter\n", only: "bash", status: 6},
	{code: `sh -c 'exit 3'`, status: 3},
	{code: `(sleep 0.1 &)`, only: "bash zsh dash far"}, {code: `exec 3</dev/null`, only: "bash zsh dash far"}, {code: `(exit 5)`, status: 5, only: "bash zsh dash far"},
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// program returns the code of a random cell, its output, its exit code, and the
// answers to what it asks.
func (l *language) program(random *rand.Rand, name string) (code, out string, status int, answers []string) {
	var parts []string
	pick := func(from []statement) statement {
		for {
			if s := from[random.IntN(len(from))]; s.only == "" || strings.Contains(s.only, name) {
				return s
			}
		}
	}
	all := make([]statement, random.IntN(4), 4)
	for i := range all {
		all[i] = pick(l.prints)
	}
	for _, s := range append(all, pick(l.leavings)) {
		parts, out, status = append(parts, s.code), out+s.out, s.status
		if s.answer != "" {
			answers = append(answers, s.answer)
		}
	}
	return strings.Join(parts, l.glue), strings.TrimSuffix(out, "\n"), status, answers
}

// cellPatience bounds a cell that takes milliseconds, and of the first the start of
// its program.
const cellPatience = patience

// TestCellsTellTheTruth runs random programs of statements whose output and
// status are known, many in one session: each cell's answer is the truth, or
// says that it is not exact, or what is missing. DEN_CELLS sets how many are run
// in each shell, DEN_CELLS_SEED repeats a run.
func TestCellsTellTheTruth(t *testing.T) {
	t.Parallel()
	rounds, seed := 40, uint64(1)
	if n := fromEnv(t, "DEN_CELLS"); n > 0 {
		rounds, seed = int(n), rand.Uint64()
	}
	if n := fromEnv(t, "DEN_CELLS_SEED"); n > 0 {
		seed = n
	}
	t.Logf("DEN_CELLS_SEED=%d", seed)
	tallies := make([]tally, len(speakers))
	t.Cleanup(func() { t.Log("\n" + table(tallies)) })
	for i, sp := range speakers {
		t.Run(sp.name, func(t *testing.T) {
			need.Program(t, sp.needs)
			t.Parallel()
			argv := sp.argv
			if sp.server != nil {
				argv = append(argv[:len(argv):len(argv)], sp.server(t)...)
			}
			s, _ := start(t, session.Options{}, argv...)
			if sp.shows != "" {
				waitFor(t, s, sp.shows)
			}
			if sp.inner != "" {
				if r, err := s.Run(t.Context(), session.Run{Code: sp.inner, Timeout: patience}); err != nil || !r.InnerShell {
					t.Fatalf("%s: %+v %v", sp.inner, r, err)
				}
			}
			tellsTruth(t, s, sp, rand.New(rand.NewPCG(seed, uint64(i))), rounds, &tallies[i])
		})
	}
}

// What den says of a cell's answer, the surest first.
var verdicts = []string{cell.Exact, cell.Likely, cell.Guess, string(cell.Unsure), lacking}

const lacking = "lacking" // some of the output, and says so

// tally counts the cells of a speaker by what den said of their answers.
type tally struct {
	cells       int
	told, wrong map[string]int // by verdict: all that were judged, and those that were wrong
	took        time.Duration
}

// table returns the tallies, and their sum, for people.
func table(tallies []tally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "cells\tnot judged\t")
	for _, v := range verdicts {
		fmt.Fprintf(w, "%s\twrong\t", v)
	}
	fmt.Fprint(w, "ms a cell\t  of\n")
	row := func(of tally, name string) {
		judged := 0
		for _, v := range verdicts {
			judged += of.told[v]
		}
		fmt.Fprintf(w, "%d\t%d\t", of.cells, of.cells-judged)
		for _, v := range verdicts {
			fmt.Fprintf(w, "%d\t%d\t", of.told[v], of.wrong[v])
		}
		fmt.Fprintf(w, "%d\t  %s\n", of.took.Milliseconds()/int64(max(judged, 1)), name)
	}
	sum := tally{told: map[string]int{}, wrong: map[string]int{}}
	for i, of := range tallies {
		if of.cells == 0 {
			continue // its program is missing
		}
		row(of, speakers[i].name)
		sum.cells, sum.took = sum.cells+of.cells, sum.took+of.took
		for _, v := range verdicts {
			sum.told[v], sum.wrong[v] = sum.told[v]+of.told[v], sum.wrong[v]+of.wrong[v]
		}
	}
	row(sum, "all")
	w.Flush() // never fails
	return b.String()
}

// tellsTruth runs random cells of a language, and holds den's answers against what
// is known of them.
func tellsTruth(t *testing.T, s *session.Session, sp speaker, random *rand.Rand, rounds int, all *tally) {
	t.Helper()
	var before string
	*all = tally{cells: rounds, told: map[string]int{}, wrong: map[string]int{}}
	begun := time.Now()
	defer func() { all.took = time.Since(begun) }()
	for round := range rounds {
		code, want, status, answers := sp.language.program(random, sp.dialect)
		r, err := s.Run(t.Context(), session.Run{Code: code, Timeout: cellPatience, KeepWaiting: answers == nil})
		for _, answer := range answers {
			if err != nil || !r.Asks() {
				break
			}
			r, err = s.Answer(t.Context(), wire.Input{Text: &answer, Enter: true}, session.Run{Timeout: cellPatience})
		}
		if err != nil || !r.Final() || r.Status == cell.Failed {
			shot, _ := s.Snapshot(t.Context(), session.Now(), 0) // Best effort: the failure is told anyway.
			t.Fatalf("cell %d: %s\n behind: %s\n%+v %v\n%s", round, code, before, r, err, shot.Screen.PlainText())
		}
		said := r.Certainty
		switch {
		case r.OutputLacks != "":
			said = lacking
		case r.Status == cell.Unsure:
			said = string(cell.Unsure)
		}
		all.told[said]++
		isTrue := r.Status == cell.Done && r.Output == want
		if sp.language.hasStatus {
			isTrue = isTrue && r.ExitCode != nil && *r.ExitCode == status
		}
		if !isTrue {
			all.wrong[said]++
			report := t.Logf
			if said == cell.Exact {
				report = t.Errorf
			}
			report("cell %d: %s\n behind: %s\nprinted %q with %v (%s, by %s, %s %s)\nwant    %q with %d", round, code, before, r.Output, show(r.ExitCode), r.Status, r.By, r.Certainty, r.OutputLacks, want, status)
		}
		before = code
	}
}

func show(code *int) string {
	if code == nil {
		return "no status"
	}
	return fmt.Sprint(*code)
}

// The echo of an answer is output also in the row that the shell's editor had
// entered, as it does where code fills the row before.
func TestAnswerBehindAFullRow(t *testing.T) {
	t.Parallel()
	for _, argv := range shellsWithMarks[:2] {
		t.Run(argv[0], func(t *testing.T) {
			t.Parallel()
			need.Program(t, argv[0])
			s, _ := start(t, session.Options{}, argv...)
			for width := 70; width <= 90; width++ {
				code := `printf 'name? '; read x; echo "[$x]"; : `
				code += strings.Repeat("x", width-len(code))
				r, err := s.Run(t.Context(), session.Run{Code: code, Timeout: cellPatience})
				if err == nil && r.Asks() {
					r, err = s.Answer(t.Context(), line("bob"), session.Run{Timeout: cellPatience})
				}
				if err != nil || r.Output != "name? bob\n[bob]" {
					t.Errorf("code of %d bytes: %+v %v", width, r, err)
				}
			}
		})
	}
}

// Where the terminal has no way to show a long line whole, the shell's editor scrolls
// it sideways, over the prompt. None of that is output, also not where the command
// moves the cursor up.
func TestLineScrolledSideways(t *testing.T) {
	t.Parallel()
	need.Program(t, "bash")
	s, _ := start(t, session.Options{}, "bash", "--norc")
	for _, c := range []struct{ code, want string }{
		{`bind 'set horizontal-scroll-mode on'`, ""},
		{`: ` + strings.Repeat("x", 90) + `; printf 'one\ntwo\033[H'`, "one\ntwo"},
	} {
		r, err := s.Run(t.Context(), session.Run{Code: c.code, Timeout: cellPatience})
		if err != nil || r.Status != cell.Done || r.Output != c.want {
			t.Errorf("%s: %+v %v", c.code, r, err)
		}
	}
}

// An editor that takes the prompt for longer than it is breaks its line before the
// terminal does: busybox does so with den's marks in a prompt that has no escapes of
// its own. It shows ? for what it does not know. All of it is the echo.
func TestEchoThatIsBrokenEarly(t *testing.T) {
	t.Parallel()
	need.Program(t, "busybox")
	s, _ := start(t, session.Options{}, shellsWithMarks[0]...)
	if r, err := s.Run(t.Context(), session.Run{Code: "PS1='box$ ' busybox sh", Timeout: patience}); err != nil || !r.InnerShell {
		t.Fatalf("%+v %v", r, err)
	}
	for _, c := range []struct{ code, want string }{
		{`printf 'one\ntwo\n'; printf 'no end of the line'`, "one\ntwo\nno end of the line"},
		{`printf '%s\n' 日本 é`, "日本\né"},
		{`: ` + strings.Repeat("x ", 60), ""},
	} {
		r, err := s.Run(t.Context(), session.Run{Code: c.code, Timeout: cellPatience})
		if err != nil || r.Status != cell.Done || r.Output != c.want {
			t.Errorf("%s: %+v %v", c.code, r, err)
		}
	}
}

// A shell behind ssh, of which the kernel tells nothing, lets one cell wait for what
// an answer may have left, and not all that follow. Nor does one whose editor asks
// the terminal something behind each prompt.
func TestCellsBehindAnAnswerFarAway(t *testing.T) {
	for _, inner := range []string{"bash --norc", "busybox sh"} {
		t.Run(inner, func(t *testing.T) {
			t.Parallel()
			need.Program(t, "busybox")
			s, _ := start(t, session.Options{}, servertest.SSHD(t)...)
			waitFor(t, s, servertest.Prompt)
			if r, err := s.Run(t.Context(), session.Run{Code: inner, Timeout: patience}); err != nil || !r.InnerShell {
				t.Fatalf("%+v %v", r, err)
			}
			r, err := s.Run(t.Context(), session.Run{Code: "printf 'name? '; read x", Timeout: patience})
			if err == nil && r.Asks() {
				r, err = s.Answer(t.Context(), line("bob"), session.Run{Timeout: patience})
			}
			if err != nil || !r.Final() {
				t.Fatalf("%+v %v", r, err)
			}
			fastest := patience.Milliseconds()
			for range 30 {
				r, err := s.Run(t.Context(), session.Run{Code: "true", Timeout: patience})
				if err != nil || r.Certainty != cell.Exact || r.Output != "" {
					t.Fatalf("%+v %v", r, err)
				}
				fastest = min(fastest, r.DurationMS)
			}
			if fastest >= 200 {
				t.Errorf("each cell took %d ms and more", fastest)
			}
		})
	}
}
