package session_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// Pieces of input that end no line by themselves. What they leave behind must
// not be run.
var (
	strayTexts = []string{
		"touch OOPS;", " ; touch OOPS ; ", "$(touch OOPS)", "`touch OOPS`", "touch OOPS &", "'", `"`, "`", "(", "{ ", "\\", "|", "#", "<<E", "é日本",
		"if true; then ", "for i in 1 2; do ", "a", "ls /usr/", "   ", "w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w",
	}
	strayKeys = []string{
		"C-a", "C-e", "C-b", "C-f", "C-k", "C-n", "C-p", "C-r", "C-s", "C-t", "C-u", "C-v", "C-w", "C-x", "C-y", "C-z", "C-g", "C-l", "C-_",
		"M-b", "M-f", "M-d", "M-3", "M--", "M-x", "M-u", "Esc", "Tab", "S-Tab", "Up", "Down", "Left", "Right", "Home", "End", "PgUp", "Delete", "Backspace", "F5", "Insert",
	}
	strayBytes = []string{"\x1b[200~", "\x1b[201~", "\x1b[?62;4c", "\x1b[24;80R", "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b[1", "\x1bO", "\x1b[", "\xe2\x82", "\xff", "\x00"}
	// The shell asks for more behind these.
	openLines = []string{"echo 'open", `echo "open`, "echo \\", "touch OOPS |", "touch OOPS &&", "(touch OOPS", "cat <<E", "for i in 1 2"}
)

// strayInput returns a random input for a shell whose line is empty.
func strayInput(random *rand.Rand, shell string) (inputs []wire.Input) {
	if random.IntN(4) == 0 && shell != "fish" {
		inputs = append(inputs, line(openLines[random.IntN(len(openLines))]))
	}
	for range 1 + random.IntN(5) {
		switch random.IntN(3) {
		case 0:
			key := strayKeys[random.IntN(len(strayKeys))]
			if key == "Tab" && shell != "bash" || key == "S-Tab" && shell == "fish" {
				continue // completion runs $(…) in zsh and fish, without a cell
			}
			inputs = append(inputs, press(key))
		case 1:
			inputs = append(inputs, wire.Input{Raw: []byte(strayBytes[random.IntN(len(strayBytes))])})
		default:
			inputs = append(inputs, text(strayTexts[random.IntN(len(strayTexts))]))
		}
	}
	return inputs
}

// TestRandomLeftovers leaves random input in four shells before cells. Every
// cell must give its own output, or be refused, and nothing else may run.
// DEN_LEFTOVERS sets how often, with other input each time, and
// DEN_LEFTOVERS_SEED repeats a run; 'make leftovers' does it 10,000 times.
func TestRandomLeftovers(t *testing.T) {
	t.Parallel()
	rounds, seed := 12, uint64(0)
	if n := fromEnv(t, "DEN_LEFTOVERS"); n > 0 {
		rounds, seed = int(n), rand.Uint64()
	}
	if n := fromEnv(t, "DEN_LEFTOVERS_SEED"); n > 0 {
		seed = n
	}
	t.Logf("DEN_LEFTOVERS_SEED=%d", seed)
	for i, argv := range shellsWithMarks {
		for part, n := range parts(rounds/len(shellsWithMarks), 250) {
			t.Run(fmt.Sprintf("%s/%d", argv[0], part), func(t *testing.T) {
				need.Program(t, argv[0])
				t.Parallel()
				leaveAtRandom(t, argv, rand.New(rand.NewPCG(seed, uint64(len(shellsWithMarks)*part+i))), n)
			})
		}
	}
}

// fromEnv is a number from the environment, or 0.
func fromEnv(t *testing.T, name string) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// parts cuts rounds into parts of at most this many. Each part has a session
// of its own: fish waits more than it works.
func parts(rounds, most int) (all []int) {
	for ; rounds > most; rounds -= most {
		all = append(all, most)
	}
	return append(all, rounds)
}

func leaveAtRandom(t *testing.T, argv []string, random *rand.Rand, rounds int) {
	s, dir := startShell(t, argv)
	refused := 0
	for round := range rounds {
		if random.IntN(4) == 0 {
			typeIntoACell(t, s, dir, random)
		}
		inputs := strayInput(random, argv[0])
		for _, in := range inputs {
			if _, err := s.Input(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		want := fmt.Sprintf("round %d", round)
		r, err := s.Run(t.Context(), session.Run{Code: "echo " + want, Timeout: patience, KeepWaiting: true})
		if err != nil {
			t.Fatalf("round %d: %s: %v", round, showInputs(inputs), err)
		}
		_, oops := os.Stat(filepath.Join(dir, "OOPS"))
		switch {
		case oops == nil:
			t.Fatalf("round %d: a leftover of %s was run", round, showInputs(inputs))
		case r.By == cell.ByRefusal:
			refused++
			t.Logf("round %d: %s: %s", round, showInputs(inputs), r.Output)
			s, dir = startShell(t, argv)
		case r.Output != want || r.Status != cell.Done || r.ExitCode == nil || *r.ExitCode != 0:
			shot, _ := s.Snapshot(t.Context(), session.Now(), 0) // Best effort: the failure is told anyway.
			t.Fatalf("round %d: %s: %+v\n%s", round, showInputs(inputs), r, shot.Screen.PlainText())
		}
	}
	t.Logf("%d rounds, %d refused", rounds, refused)
}

// typeIntoACell types random text while a cell of several lines runs. All of the
// cell runs, or a part of it, and nothing else.
func typeIntoACell(t *testing.T, s *session.Session, dir string, random *rand.Rand) {
	t.Helper()
	code := strings.TrimSuffix(strings.Repeat("echo one; sleep 0.01\n", 1+random.IntN(4)), "\n")
	fired, err := s.Fire(t.Context(), code, 0)
	if err != nil {
		t.Fatal(err)
	}
	var typed []wire.Input
	for range 1 + random.IntN(3) {
		typed = append(typed, text(strayTexts[random.IntN(len(strayTexts))]))
		if _, err := s.Input(t.Context(), typed[len(typed)-1]); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Await(t.Context(), fired.CellID, session.Run{Timeout: patience, KeepWaiting: true})
	said, _, _ := strings.Cut(r.Output, "the rest was not sent")
	for _, in := range typed { // the terminal shows it among the output
		said = strings.ReplaceAll(said, *in.Text, "")
	}
	_, oops := os.Stat(filepath.Join(dir, "OOPS"))
	switch {
	case err != nil || !r.Final() || oops == nil:
		t.Fatalf("%q with %s: %+v %v", code, showInputs(typed), r, err)
	case r.By == cell.ByRefusal:
	case r.Status != cell.Done || strings.Count(said, "one") != strings.Count(code, "one"):
		t.Fatalf("%q with %s: %+v", code, showInputs(typed), r)
	}
	expectClean(t, s, dir) // and what is left is not entered with what comes next
}

// TestRandomLeftoversInPython does the same in a program without marks: a cell
// gives its own output, or is refused.
func TestRandomLeftoversInPython(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	rounds, seed := 6, uint64(0)
	if n := fromEnv(t, "DEN_LEFTOVERS"); n > 0 {
		rounds, seed = int(n)/10, rand.Uint64()
	}
	if n := fromEnv(t, "DEN_LEFTOVERS_SEED"); n > 0 {
		seed = n
	}
	t.Logf("DEN_LEFTOVERS_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 99))
	s, dir := startUnmarked(t, []string{"python3", "-q"}, "")
	refused := 0
	for round := range rounds {
		in := []wire.Input{text([]string{`open("OOPS","w");`, "1+", "'", "(", " ", "x = 1"}[random.IntN(6)])}
		if random.IntN(2) == 0 {
			in = append(in, press([]string{"C-a", "Left", "Up", "C-u", "C-w", "C-k", "Backspace"}[random.IntN(7)]))
		}
		for _, in := range in {
			if _, err := s.Input(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		r := runCell(t, s, fmt.Sprintf("%d+1", round))
		_, oops := os.Stat(filepath.Join(dir, "OOPS"))
		switch {
		case oops == nil:
			t.Fatalf("round %d: a leftover of %s was run: %+v", round, showInputs(in), r)
		case r.By == cell.ByRefusal:
			refused++
		case r.Output != fmt.Sprint(round+1) || r.Status != cell.Done:
			t.Fatalf("round %d: %s: %+v", round, showInputs(in), r)
		}
		if _, err := s.Input(t.Context(), press("C-e", "C-u")); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rounds, %d refused", rounds, refused)
}

// showInputs shows inputs as they can be repeated.
func showInputs(inputs []wire.Input) (all string) {
	for _, in := range inputs {
		switch {
		case in.Text != nil:
			all += fmt.Sprintf("type %q enter=%v, ", *in.Text, in.Enter)
		case in.Raw != nil:
			all += fmt.Sprintf("raw %q, ", in.Raw)
		default:
			all += fmt.Sprintf("keys %v, ", in.Keys)
		}
	}
	return all
}
