package terminal_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/ticks/terminal"
)

// helperSeed makes the test's own binary print lines instead of testing.
const helperSeed = "DEN_TEST_PRINTS"

// randomLine is a line of any length, of characters that take one column.
func randomLine(r *rand.Rand) string {
	b := make([]rune, r.IntN([]int{1, 5, 80, 120, 121, 400}[r.IntN(6)]))
	for i := range b {
		b[i] = []rune("abc déf  0-")[r.IntN(11)]
	}
	return string(b)
}

// prints prints random lines in random pieces.
func prints(number string) int {
	seed, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	out := strings.Join(helperLines(seed), "\n") + "\n"
	r := rand.New(rand.NewPCG(seed, 4))
	for len(out) > 0 {
		n := min(len(out), 1+r.IntN(1+r.IntN(2000)))
		os.Stdout.WriteString(out[:n])
		out = out[n:]
		for range r.IntN(1 + r.IntN(2_000_000)) { // let others run for a while
		}
	}
	return 0
}

func helperLines(seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 3))
	lines := make([]string, 20+r.IntN(2000))
	for i := range lines {
		lines[i] = randomLine(r)
	}
	return lines
}

// shown puts together what waits show of one terminal, from the whole where
// lines are left out.
type shown struct{ lines []string }

func (s *shown) add(t *testing.T, r terminal.Report) {
	t.Helper()
	all := make([]terminal.Line, 0, r.Lines.Total)
	if r.Lines.Whole == "" {
		all = append(all, r.Lines.Shown...)
	} else {
		f, err := os.Open(r.Lines.Whole)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			all = append(all, terminal.Line{Text: sc.Text()})
		}
		all[0] = r.Lines.Shown[0] // what it stands for
	}
	if len(all) != r.Lines.Total {
		t.Errorf("%d of %d lines are there", len(all), r.Lines.Total)
	}
	for _, l := range all {
		if l.Redrawn || l.Joined {
			t.Errorf("a line of a plain program: %+v", l)
		}
		if l.Again && len(s.lines) > 0 {
			s.lines[len(s.lines)-1] = l.Text
			continue
		}
		s.lines = append(s.lines, l.Text)
	}
}

// Whatever a program prints, in whatever pieces, and whenever the agent looks:
// what it was shown is what was printed.
func TestNothingPrintedIsUnreported(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	const programs = 6 // beside each other
	all, want := map[int]*shown{}, map[int][]string{}
	for seed := range uint64(programs) {
		n := a.open(fmt.Sprintf("%s=%d exec %s", helperSeed, seed, os.Args[0]))
		all[n], want[n] = &shown{}, helperLines(seed)
	}
	r := rand.New(rand.NewPCG(1, 5))
	for ended := 0; ended < programs; {
		w := a.wait(terminal.WaitArgs{Timeout: seconds(r.IntN(2) * 60)}) // a look, or a wait
		for _, report := range w.Reports {
			if all[report.Number] == nil {
				continue // the shell
			}
			all[report.Number].add(t, report)
			if report.Exit != nil {
				ended++
			}
		}
	}
	for n, got := range all {
		if len(got.lines) != len(want[n]) {
			t.Errorf("terminal %d: %d lines were shown, %d printed", n, len(got.lines), len(want[n]))
		}
		for i := range min(len(want[n]), len(got.lines)) {
			if got.lines[i] != want[n][i] {
				t.Fatalf("terminal %d: line %d is %q, printed was %q", n, i, got.lines[i], want[n][i])
			}
		}
	}
}

// Keystrokes never reach a terminal that printed something which the agent has
// not seen, nor a program that it does not expect; and what is refused is not
// sent.
func TestKeystrokesComeAfterWhatWasSeen(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	pipe := fifo(t)
	n := a.open("cat " + pipe + ` & while read -r line; do echo "got $line"; done`)
	d := a.sessionOf(n)
	print, printed := printer(t, pipe)
	var accepted []terminal.Typed
	refused := 0
	r := rand.New(rand.NewPCG(1, 6))
	for i := range 200 {
		if r.IntN(2) == 0 {
			print <- struct{}{} // at some time during what follows
		}
		if r.IntN(3) > 0 {
			a.wait(terminal.WaitArgs{Timeout: seconds(0)})
		}
		expect := []string{"bash", "vim"}[r.IntN(8)/7]
		typed, err := a.Type(t.Context(), terminal.TypeArgs{Number: n, Expect: expect, Text: fmt.Sprintf("%s-%d", expect, i)})
		switch {
		case err == nil && expect == "vim":
			t.Fatal("it was not expected")
		case err == nil:
			accepted = append(accepted, typed)
		case fault.KindOf(err) == fault.Busy:
			refused++
		default:
			t.Fatal(err)
		}
	}
	close(print)
	<-printed
	t.Logf("%d accepted, %d refused", len(accepted), refused)
	if len(accepted) == 0 || refused == 0 {
		t.Error("that shows nothing")
	}
	checkInputs(t, a.events(d), accepted)
}

// printer lets the reader of a pipe print a line for everything that it is sent.
func printer(t *testing.T, pipe string) (print chan<- struct{}, done <-chan struct{}) {
	t.Helper()
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer f.Close()
		for range asked {
			if _, err := f.WriteString("tick\n"); err != nil {
				t.Error(err)
			}
		}
	}()
	return asked, ended
}

// checkInputs checks that the log has the accepted inputs and no others, and no
// output between what was seen and each of them.
func checkInputs(t *testing.T, events []eventlog.Event, accepted []terminal.Typed) {
	t.Helper()
	seen := map[uint64]uint64{} // by the number of the input
	for _, typed := range accepted {
		seen[typed.Seq] = typed.Seen
	}
	var output uint64
	inputs := 0
	for _, ev := range events {
		if _, ok := ev.Output(); ok {
			output = ev.Seq
		}
		if _, ok := ev.Input(); !ok && ev.Code != eventlog.Hidden {
			continue
		}
		inputs++
		up, ok := seen[ev.Seq]
		if !ok {
			t.Errorf("event %d is input that was not accepted: %q", ev.Seq, ev.Data)
		} else if output > up {
			t.Errorf("event %d is input; output %d came before it, seen was up to %d", ev.Seq, output, up)
		}
	}
	if inputs != len(accepted) {
		t.Errorf("%d inputs in the log, %d were accepted", inputs, len(accepted))
	}
}
