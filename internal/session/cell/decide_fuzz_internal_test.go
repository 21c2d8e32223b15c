package cell

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/process/pty"
)

// draw makes values out of bytes. When they are used up, all is the first of
// its kind.
type draw struct{ rest []byte }

func (d *draw) n(below int) int {
	if len(d.rest) == 0 {
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return int(b) % below
}

func (d *draw) bool() bool { return d.n(2) == 1 }

func pick[T any](d *draw, from ...T) T { return from[d.n(len(from))] }

// some is a short run of values.
func some[T any](d *draw, from ...T) []T {
	var all []T
	for range d.n(4) {
		all = append(all, pick(d, from...))
	}
	return all
}

var anyText = []string{"", "x", ">>> ", "... ", "$ ", "$ half", "> ", "out>>> ", "In [3]: ", "In [4]: ", "Sure? ", "irb:002* ", "db> ", "out db> ", "é> "} // UTF-8, as the emulator makes it

var anyLine = []string{"x", "", "  ", "\ty", "def f():", "  return 1", `s = """`, "f(", "@d", "else:", "# c", "a\\", "\x00"}

func (d *draw) prompt() Prompt { return Prompt{pick(d, anyText...), d.n(12)} }

func (d *draw) program() Program {
	return Program{Prompt: pick(d, "", "", "db>", ">>>"), Hook: d.n(4) == 3, KeepsRefused: d.bool()}
}

func (d *draw) observed() Observed {
	marks := ShellMarks{
		Token: pick(d, "", "t"), Silent: d.bool(), Inner: d.bool(), Last: pick(d, 0, byte('A'), 'B', 'C', 'D', 'P', inputPending),
		Ends: d.n(4), Exit: d.n(3), Began: d.bool(), Shown: pick(d, anyText...), Refused: d.bool(), Emptied: d.n(4),
	}
	probe := pty.Readiness{State: pick(d, "", pty.Ready, pty.Busy, pty.Unknown), Canonical: d.bool(), Gone: d.bool()}
	return Observed{
		Sent: d.bool(), Pressed: d.bool(), Interrupted: d.bool(), Presses: d.n(maxPresses + 1), LostPress: d.bool(), HookEnded: d.n(8) == 7, Exited: d.n(8) == 7, ExitCode: d.n(3),
		Shell: marks, ShellEnded: d.bool(), Ready: d.bool(), Probe: probe, Own: d.bool(), Asking: d.bool(),
		SincePress: pick(d, 0, promptRest, clearRest+1), Standing: pick(d, 0, timerRest, timerRest+1), Left: d.prompt(), Line: int64(d.n(20)),
		Quiet:    pick(d, 0, promptRest, promptRest+1, clearRest+1, 2*promptRest+1, quietRest/3+1, quietRest+1, 2*quietRest+1, goneRest+1, beginRest+1),
		Answered: d.bool(), Foreign: d.bool(), Bracket: d.bool(), AltScreen: d.bool(),
		Stray: StrayInput{Count: d.n(4), Pending: d.bool(), Entered: d.bool(), Ends: d.n(4)}, Blank: d.bool(), CursorHidden: d.bool(), Heard: d.bool(),
		Half: HalfLine{Text: pick(d, "", "", "half", "\t"), Keys: d.n(4) == 3, Canonical: d.bool(), Shown: d.bool(), Behind: d.bool()},
	}
}

func (d *draw) state() State {
	s := State{
		Lines: some(d, anyLine...), Typed: pick(d, anyLine...), ByShell: d.bool(), Prompt: d.prompt(), Learned: d.prompt(),
		Cleared: d.n(4), Clears: d.n(maxClears + 1), Strays: d.n(4), Emptied: d.n(4),
	}
	for _, line := range some(d, anyLine...) {
		s.Python.Add(line)
	}
	return s
}

// FuzzDecide holds the laws of the rule for whatever is observed.
func FuzzDecide(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		seed := make([]byte, 64)
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := &draw{raw}
		p, o, s := d.program(), d.observed(), d.state()
		if !o.Sent && len(s.Lines) == 0 {
			s.Lines = []string{""} // as Begin makes it
		}
		lines := slices.Clone(s.Lines)
		a, next := Decide(p, o, s)
		checkAction(t, p, o, s, a)

		if !slices.Equal(lines, s.Lines) {
			t.Errorf("changed the lines to %q", s.Lines)
		}
		if again, state := Decide(p, o, s); !reflect.DeepEqual(a, again) || !reflect.DeepEqual(next, state) {
			t.Errorf("decided %+v and then %+v", a, again)
		}
		moved := overUpgrade(t, s)
		if again, state := Decide(p, o, moved); !reflect.DeepEqual(a, again) || !reflect.DeepEqual(overUpgrade(t, next), overUpgrade(t, state)) {
			t.Errorf("decided %+v, and behind an upgrade %+v", a, again)
		}
		if wait := ProbeAfter(p, o, s, time.Millisecond); wait < 0 || wait > tellPause {
			t.Errorf("asks the kernel after %v", wait)
		}
	})
}

// overUpgrade is a state as the next binary gets it.
func overUpgrade(t *testing.T, s State) (moved State) {
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &moved)
	}
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

// checkAction holds what is true of every decision.
func checkAction(t *testing.T, p Program, o Observed, s State, a Action) {
	t.Helper()
	switch a.Do {
	case Wait, Tell:
	case Clear:
		if o.Sent {
			t.Errorf("does %q behind code that was sent", a.Do)
		}
	case Press:
		if !o.Sent || !o.Interrupted || o.Presses >= maxPresses || o.SincePress <= clearRest {
			t.Errorf("presses Ctrl-C again: %+v", o)
		}
	case Refuse:
		if o.Sent && !o.strayBetween(&s) {
			t.Errorf("refuses what is left of the code without a reason")
		}
	case Type:
		if len(s.Lines) == 0 && a.Input.Text != endsBlock {
			t.Errorf("types %q, which is no code", a.Input.Text)
		}
		if a.First && s.Cleared == 0 && o.stray() {
			t.Errorf("types %q into input that is not empty: %+v", a.Input.Text, o)
		}
		if !a.First && (o.strayBetween(&s) || o.Pressed) {
			t.Errorf("types %q behind input of others, or an interrupt: %+v", a.Input.Text, o)
		}
		if a.First && o.standsHalf(s.Learned.Text) {
			t.Errorf("types %q behind half a line: %+v", a.Input.Text, o)
		}
		if a.First == o.Sent {
			t.Errorf("first is %v, sent was %v", a.First, o.Sent)
		}
	case End:
		checkEnd(t, p, o, s, a)
	default:
		t.Errorf("does %q", a.Do)
	}
	if a.Take.Col < 0 {
		t.Errorf("takes %+v", a.Take)
	}
	if a.Do != Type && !o.Sent && a.Do != End && a.Take.What != Nothing {
		t.Errorf("takes output of code that was not sent: %+v", a)
	}
}

// checkEnd holds the law of ends: a cell ends by a way only when no surer one
// has a say.
func checkEnd(t *testing.T, p Program, o Observed, s State, a Action) {
	t.Helper()
	if a.Status == Failed && (a.By != ByInt || o.Sent && len(s.Lines) == 0) {
		t.Errorf("ends as %s by %s", a.Status, a.By)
	}
	if a.By == ByInt {
		if !o.Pressed && !o.Interrupted {
			t.Error("ends by an interrupt that nobody asked for")
		}
		return
	}
	if !o.Sent && a.By != ByExit && a.By != ByHook {
		t.Errorf("ends by %s before the code was sent", a.By)
	}
	if len(s.Lines) > 0 && a.By != ByExit && a.By != ByHook {
		t.Errorf("ends by %s with %d lines to type", a.By, len(s.Lines))
	}
	// From the surest on. Where a way has a say, only it and an exit can end.
	ways := []struct {
		by  By
		say bool
	}{
		{ByHook, o.HookEnded},
		{ByExit, o.Exited},
		{ByHook, p.Hook},
		{ByPrompt, p.Prompt != ""},
		{ByShell, o.ShellEnded || s.ByShell},
		{ByReady, o.Ready},
		{ByLearned, s.promptBack(&o)},
		{ByQuiet, true},
	}
	for _, way := range ways {
		if !way.say {
			continue
		}
		if a.By != way.by {
			t.Errorf("ends by %s where %s has a say", a.By, way.by)
		}
		break
	}
	if busy := o.Probe.State == pty.Busy && !o.Ready; busy && (a.By == ByQuiet || a.By == ByPrompt) {
		t.Errorf("ends by %s while the kernel says that the program works", a.By)
	}
	if asked := o.Ready || o.Standing > timerRest; (a.By == ByPrompt || a.By == ByLearned) && !asked && !o.Heard {
		t.Errorf("ends by %s that stood before the last line was heard of", a.By)
	}
	if (a.By == ByQuiet) != (a.Status == Unsure) {
		t.Errorf("ends as %s by %s", a.Status, a.By)
	}
	if a.By == ByQuiet && s.Prompt.Text != "" {
		t.Errorf("ends by silence, and the prompt %q is not back", s.Prompt.Text)
	}
	if a.By == ByQuiet && o.Quiet <= quietRest {
		t.Errorf("ends by silence of %v", o.Quiet)
	}
}

// FuzzDecideTypes drives cells over whatever is observed: the code is typed in
// its order, each line at most once, and an end comes only when all was typed.
func FuzzDecideTypes(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		seed := make([]byte, 1024)
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := &draw{raw}
		p, code := d.program(), some(d, anyLine...)
		s, sent := Begin(strings.Join(code, "\n"), d.prompt()), false
		var typed []string
		for len(d.rest) > 0 {
			o := d.observed()
			o.Sent, o.HookEnded, o.Exited, o.Pressed, o.Interrupted = sent, false, false, false, false
			var a Action
			a, s = Decide(p, o, s)
			if a.Do == Type {
				sent = true
				typed = append(typed, strings.Split(a.Input.Text, "\n")...)
			}
			got, want := notBlank(typed), notBlank(code)
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Fatalf("typed %q of %q", typed, code)
			}
			if a.Do == End {
				if len(got) != len(want) {
					t.Fatalf("ended by %s with %q of %q", a.By, typed, code)
				}
				return
			}
		}
	})
}

// notBlank leaves out the lines that mean nothing to a REPL: some are left
// away, and some are added.
func notBlank(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.TrimSpace(line) == "" })
}
