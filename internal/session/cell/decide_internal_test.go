package cell

import (
	"reflect"
	"testing"
	"time"

	"den/internal/process/pty"
)

// What programs show and what the kernel says of them, for the tables below.
var (
	python   = Prompt{">>> ", 4}
	more     = Prompt{"... ", 4}
	question = Prompt{"Sure? ", 6}
	dollar   = Prompt{"$ ", 2}

	busy       = pty.Readiness{State: pty.Busy, PID: 7}
	lagging    = pty.Readiness{State: pty.Busy, PID: 7, Runs: true}
	ready      = pty.Readiness{State: pty.Ready, PID: 7, Canonical: true}
	echoing    = pty.Readiness{State: pty.Ready, PID: 7, Canonical: true, Echo: true}
	editing    = pty.Readiness{State: pty.Ready, PID: 7}
	unknown    = pty.Readiness{State: pty.Unknown, PID: 7}
	onlyTimers = pty.Readiness{State: pty.Unknown, PID: 7, OnlyTimers: true}
	gone       = pty.Readiness{State: pty.Unknown, Gone: true}

	atPrompt = ShellMarks{Token: "t", Last: 'B', Shown: "$ "}
	runs     = ShellMarks{Token: "t", Last: 'C', Began: true}
	typed    = ShellMarks{Token: "t", Last: inputPending, Shown: "$ "}
	askMore  = ShellMarks{Token: "t", Last: 'P', Shown: "$ "}
	ended    = ShellMarks{Token: "t", Last: 'D', Ends: 1, Exit: 3}
	back     = ShellMarks{Token: "t", Last: 'B', Ends: 1, Exit: 3, Shown: "$ "}
)

const longer = time.Millisecond // than a pause that must have passed

// sent is an observation of a cell whose code was sent, on line 9.
func sent(left Prompt, change ...func(*Observed)) Observed {
	o := Observed{Sent: true, Answered: true, Heard: true, Left: left, Line: 9}
	for _, f := range change {
		f(&o)
	}
	return o
}

// unsent is one before.
func unsent(left Prompt, change ...func(*Observed)) Observed {
	o := sent(left, change...)
	o.Sent = false
	return o
}

func kernel(p pty.Readiness) func(*Observed) {
	return func(o *Observed) { o.Probe, o.Ready = p, p.State == pty.Ready }
}
func shell(m ShellMarks) func(*Observed) { return func(o *Observed) { o.Shell = m } }
func shellEnded(m ShellMarks) func(*Observed) {
	return func(o *Observed) { o.Shell, o.ShellEnded = m, true }
}
func stray(count int, entered bool, ends int) func(*Observed) {
	return func(o *Observed) { o.Stray = StrayInput{Count: count, Pending: true, Entered: entered, Ends: ends} }
}
func half(h HalfLine) func(*Observed) { return func(o *Observed) { o.Half = h } }

func printedNothing(o *Observed) { o.Line = 0 }

func quiet(d time.Duration) func(*Observed) { return func(o *Observed) { o.Quiet = d } }

func pressedFor(d time.Duration) func(*Observed) { return func(o *Observed) { o.SincePress = d } }

func pressed(o *Observed)     { o.Pressed = true }
func interrupted(o *Observed) { o.Pressed, o.Interrupted = true, true }
func lostPress(o *Observed)   { o.LostPress = true }
func foreign(o *Observed)     { o.Foreign = true }
func blank(o *Observed)       { o.Blank = true }
func brackets(o *Observed)    { o.Bracket = true }
func own(o *Observed)         { o.Own = true }
func asking(o *Observed)      { o.Asking = true }
func hidden(o *Observed)      { o.CursorHidden = true }
func altScreen(o *Observed)   { o.AltScreen = true }
func byHand(o *Observed)      { o.Shell, o.Typed = runs, true }
func notAnswered(o *Observed) { o.Answered, o.Heard = false, false }
func notHeard(o *Observed)    { o.Heard = false }
func standing(o *Observed)    { o.Probe, o.Standing = onlyTimers, timerRest+1 }

// to takes the output before a column of line 9.
func to(col int) Take { return Take{What: ToPlace, Line: 9, Col: col} }

func ends(by By, take Take) Action {
	status := Done
	if by == ByQuiet {
		status = Unsure
	}
	return Action{Do: End, Status: status, By: by, Take: take, Rests: by == ByReady}
}

func exits(by By, code int, take Take) Action {
	return Action{Do: End, Status: Done, By: by, HasExit: true, ExitCode: code, Take: take}
}

var refuses = Action{Do: Refuse, Status: Failed, By: ByRefusal}

func refusesFor(why Because) Action {
	a := refuses
	a.Because = why
	return a
}

func tells(what string) Action { return Action{Do: Tell, WaitingFor: what} }

func types(text string, style Style, take Take) Action {
	return Action{Do: Type, Input: Input{Text: text, Style: style}, Take: take}
}

func first(a Action) Action {
	a.First, a.NewCommand = true, true
	return a
}

func whole(a Action) Action {
	a.Input.Whole = true
	return a
}

func nextCommand(a Action) Action {
	a.NewCommand = true
	return a
}

func redraws(a Action) Action {
	a.Input.Redraws = true
	return a
}

// TestDecide names every way to end, to ask and to go on.
func TestDecide(t *testing.T) {
	var (
		wait      = Action{Do: Wait}
		plain     = Program{}
		given     = Program{Prompt: "db>"}
		hook      = Program{Hook: true}
		fish      = Program{KeepsRefused: true}
		inShell   = State{ByShell: true, Prompt: dollar, Learned: dollar}
		inPython  = State{Typed: "x", Prompt: python, Learned: python}
		inIRB     = State{Typed: "x", Prompt: Prompt{"irb:001> ", 9}}
		inUnknown = State{Typed: "x"}
		db        = Prompt{"db> ", 4}
		interrupt = Action{Do: End, Status: Done, By: ByInt, Take: to(0)}
		press     = Action{Do: Press}
		far       = Prompt{"me@far:~$ ", 10}
		raw       = pty.Readiness{State: pty.Unknown, PID: 7, Echo: true}
	)
	inside := func(e Evidence) func(*Observed) {
		return func(o *Observed) { o.Inside = Inside{e, pty.Process{PID: 7}} }
	}
	inquiry := func(q Inquiry) func(*Observed) { return func(o *Observed) { o.Shell.Inquiry = q } }
	declinedAt := func(p Prompt) func(*Observed) {
		return inquiry(Inquiry{Declined: pty.Process{PID: 7}, AtPrompt: p.Text})
	}
	marking := func(s State, at marking) State { s.Marking, s.MarkLine, s.MarkPrompt = at, 9, far.Text; return s }
	markedAbove := func(s State) State { s.MarkLine = 8; return s }
	lines := func(s State, more ...string) State { s.Lines = more; return s }
	begin := func(code string) State { return Begin(code, Prompt{}) }
	last := func(s State, typed string) State { s.Typed = typed; return s }
	inPy := func(s State, code ...string) State {
		for _, line := range code {
			s.Python.Add(line)
			s.Typed = line
		}
		return s
	}
	strays := func(s State, count int) State { s.Strays = count; return s }
	cleared := func(s State, ends, times int) State { s.Cleared, s.Emptied, s.Clears = ends, 1, times; return s }

	for _, c := range []struct {
		name    string
		program Program
		o       Observed
		s       State
		want    Action
	}{
		// Ends.
		{"end: a hook has seen it", hook, sent(db, (func(o *Observed) { o.HookEnded = true })), inUnknown, ends(ByHook, to(0))},
		{"end: a hook, with the cursor at the margin", hook, sent(Prompt{}, (func(o *Observed) { o.HookEnded = true })), inUnknown, ends(ByHook, Take{What: ToPlace, Line: 8})},
		{"end: a hook has seen it before the prompt came", hook, sent(db, (func(o *Observed) { o.HookEnded, o.HookRead, o.HookLine, o.HookCol = true, true, 7, 2 })), inUnknown, ends(ByHook, Take{What: ToPlace, Line: 7, Col: 2})},
		{"end: the program exits", plain, sent(Prompt{"bye", 3}, (func(o *Observed) { o.Exited, o.ExitCode = true, 5 })), inPython, exits(ByExit, 5, to(3))},
		{"end: the program exits at its prompt, which is not output", plain, sent(python, (func(o *Observed) { o.Exited = true })), inPython, exits(ByExit, 0, to(0))},
		{"end: the program exits at its prompt behind output", plain, sent(Prompt{"bye>>> ", 7}, (func(o *Observed) { o.Exited = true })), inPython, exits(ByExit, 0, to(3))},
		{"end: the shell exits, and nothing is known of its prompt", plain, sent(dollar, (func(o *Observed) { o.Exited = true })), inShell, exits(ByExit, 0, to(2))},
		{"end: the shell exits behind the end of a command", plain, sent(dollar, shellEnded(ended), (func(o *Observed) { o.Exited = true })), inShell, exits(ByExit, 0, Take{})},
		{"end: the program exits before the code was sent", plain, unsent(Prompt{}, (func(o *Observed) { o.Exited = true })), begin("x"), exits(ByExit, 0, to(0))},
		{"end: the given prompt, and the kernel agrees", given, sent(db, kernel(ready)), inUnknown, ends(ByPrompt, to(0))},
		{"end: the given prompt, and the kernel cannot tell", given, sent(db, kernel(unknown), quiet(promptRest+longer)), inUnknown, ends(ByPrompt, to(0))},
		{"end: the given prompt behind output without a newline", given, sent(Prompt{"out db> ", 8}, kernel(ready)), inUnknown, ends(ByPrompt, to(4))},
		{"end: the given prompt is the end of the whole one", Program{Prompt: "#"}, sent(Prompt{"root@vm:~# ", 11}, kernel(ready)), State{Prompt: Prompt{"root@vm:~# ", 11}}, ends(ByPrompt, to(0))},
		{"end: the given prompt is the end of one with another path", Program{Prompt: "#"}, sent(Prompt{"root@vm:/tmp# ", 14}, kernel(ready)), State{Prompt: Prompt{"root@vm:~# ", 11}}, ends(ByPrompt, to(0))},
		{"end: the given prompt is the end of one behind output without a newline", Program{Prompt: "#"}, sent(Prompt{"outroot@vm:~# ", 14}, kernel(ready)), State{Prompt: Prompt{"root@vm:~# ", 11}}, ends(ByPrompt, to(3))},
		{"end: the shell says so, with the status", plain, sent(dollar, shellEnded(back)), inShell, exits(ByShell, 3, Take{})},
		{"end: the shell says so behind a program that it started", plain, sent(dollar, shellEnded(back)), inPython, exits(ByShell, 3, Take{})},
		{"end: the shell says so behind foreign input, and rests", plain, sent(dollar, shellEnded(back), foreign, kernel(ready)), inShell, exits(ByShell, 3, Take{})},
		{"end: the shell says so behind foreign input, and is silent", plain, sent(dollar, shellEnded(back), foreign, quiet(2*promptRest+longer)), inShell, exits(ByShell, 3, Take{})},
		{"end: the shell says so behind foreign input, and works on for long (fish's completions)", plain, sent(dollar, shellEnded(back), foreign, kernel(busy), own, quiet(quietRest+longer)), inShell, exits(ByShell, 3, Take{})},
		{"end: the shell says so, and reads without showing a prompt", plain, sent(Prompt{}, shellEnded(ended), kernel(ready), own, quiet(promptRest+longer)), inShell, exits(ByShell, 3, Take{})},
		{"end: the program waits at its prompt", plain, sent(python, kernel(ready)), inPython, ends(ByReady, to(0))},
		{"end: the program waits at a prompt that counts", plain, sent(Prompt{"In [4]: ", 8}, kernel(ready)), State{Prompt: Prompt{"In [3]: ", 8}}, ends(ByReady, to(0))},
		{"end: the program waits at its prompt behind output without a newline", plain, sent(Prompt{"hi>>> ", 6}, kernel(ready)), inPython, ends(ByReady, to(2))},
		{"end: a learned prompt of a program that waits for timers too", plain, sent(python, standing), inPython, ends(ByLearned, to(0))},
		{"end: a learned prompt, and the kernel cannot tell", plain, sent(python, kernel(unknown), quiet(promptRest+longer)), inPython, ends(ByLearned, to(0))},
		{"end: a learned prompt behind output without a newline, and the kernel cannot tell", plain, sent(Prompt{"hi>>> ", 6}, kernel(unknown), quiet(promptRest+longer)), inPython, ends(ByLearned, to(2))},
		{"end: a learned prompt with another path, and the kernel cannot tell", plain, sent(Prompt{"me@far:/tmp$ ", 13}, kernel(unknown), quiet(promptRest+longer)), State{Typed: "cd /tmp", Prompt: Prompt{"me@far:~$ ", 10}}, ends(ByLearned, to(0))},
		{"end: the program waits at its prompt with another path", plain, sent(Prompt{"me@far:/tmp$ ", 13}, kernel(ready)), State{Typed: "cd /tmp", Prompt: Prompt{"me@far:~$ ", 10}}, ends(ByReady, to(0))},
		{"end: silence, and no prompt is known", plain, sent(Prompt{"other> ", 7}, kernel(unknown), quiet(quietRest+longer)), inUnknown, ends(ByQuiet, to(0))},
		{"end: silence of a program without a prompt", plain, sent(Prompt{}, kernel(unknown), quiet(quietRest+longer)), inUnknown, ends(ByQuiet, to(0))},
		{"end: a program that went, and whose end is not told, is silent", plain, sent(Prompt{}, kernel(gone), quiet(goneRest+longer)), inUnknown, ends(ByQuiet, to(0))},

		// Interrupted cells.
		{"interrupt: before anything was sent", plain, unsent(Prompt{}, pressed), begin("x"), Action{Do: End, Status: Failed, By: ByInt}},
		{"interrupt: the shell tells of the end", plain, sent(dollar, shellEnded(back), interrupted), inShell, exits(ByShell, 3, Take{})},
		{"interrupt: the program waits again, whatever its prompt", plain, sent(Prompt{"KeyboardInterrupt", 17}, kernel(ready), interrupted), inPython, interrupt},
		{"interrupt: the program exits", plain, sent(Prompt{}, (func(o *Observed) { o.Exited, o.ExitCode = true, 130 }), interrupted), inPython, exits(ByExit, 130, to(0))},
		{"interrupt: the given prompt comes", given, sent(db, kernel(ready), interrupted), inUnknown, ends(ByPrompt, to(0))},
		{"interrupt: the given prompt does not come", given, sent(python, kernel(ready), interrupted), inUnknown, interrupt},
		{"interrupt: a hook does not see its line", hook, sent(python, kernel(ready), interrupted), inUnknown, interrupt},
		{"interrupt: the program's prompt is back", plain, sent(python, kernel(ready), interrupted), inPython, ends(ByReady, to(0))},
		{"interrupt: a part of the code still stands there", plain, sent(Prompt{">>> whi", 7}, kernel(ready), interrupted), last(inPython, "while True: pass"), wait},
		{"interrupt: a part of the code still stands there, and the press was lost", plain, sent(Prompt{">>> whi", 7}, kernel(ready), interrupted, pressedFor(clearRest+longer)), last(inPython, "while True: pass"), press},
		{"interrupt: the shell forked meanwhile", plain, sent(Prompt{}, shell(runs), kernel(busy), interrupted, pressedFor(clearRest+longer), lostPress), inShell, press},
		{"interrupt: a program that nothing reaches is not pressed for ever", plain, sent(Prompt{}, shell(runs), kernel(busy), interrupted, pressedFor(clearRest+longer), lostPress, (func(o *Observed) { o.Presses = maxPresses })), inShell, wait},
		{"interrupt: it works on", plain, sent(Prompt{}, kernel(busy), interrupted), inPython, tells("")},
		{"interrupt: the shell lost its marks", plain, sent(Prompt{"new% ", 5}, shell(runs), kernel(ready), own, brackets, interrupted), inShell, Action{Do: End, Status: Done, By: ByInt, Take: to(0), LostMarks: true}},
		{"interrupt: a program of the shell's asks", plain, sent(question, shell(runs), kernel(ready), brackets, interrupted, pressedFor(promptRest)), inShell, tells(ForInput)},
		{"interrupt: a program of the shell's asked when Ctrl-C was pressed", plain, sent(question, shell(runs), kernel(ready), brackets, interrupted), inShell, wait},
		{"interrupt: a program of the program's asks", plain, sent(question, kernel(ready), interrupted, pressedFor(promptRest)), inPython, tells(ForInput)},
		{"interrupt: was asked for, and Ctrl-C was not sent yet", plain, sent(question, kernel(ready), pressed), inPython, tells(ForInput)},

		// Questions.
		{"ask: given prompt, something else stands there", given, sent(question, kernel(ready)), inUnknown, tells(ForInput)},
		{"ask: a program of the shell's reads the terminal", plain, sent(question, shell(runs), kernel(ready)), inShell, tells(ForInput)},
		{"ask: a password", plain, sent(Prompt{"Password: ", 10}, shell(runs), kernel(pty.Readiness{State: pty.Ready, Canonical: true, Echo: false})), inShell, tells(ForInput)},
		{"ask: a program of the shell's waits for timers too", plain, sent(question, shell(runs), kernel(onlyTimers), asking), inShell, tells(ForInput)},
		{"ask: behind an open line, among others (ssh)", plain, sent(question, shell(runs), kernel(unknown), quiet(quietRest+longer)), inShell, tells(ForInput)},
		{"ask: the shell lost its marks, and nobody interrupted it", plain, sent(dollar, shell(runs), kernel(ready), own, brackets), inShell, tells(ForInput)},
		{"ask: a program in a silent shell with an editor of its own", plain, sent(question, shell(ShellMarks{Token: "t", Silent: true, Last: inputPending}), kernel(unknown), quiet(quietRest/3+longer)), inShell, tells(ForInput)},
		{"ask: a program in a silent shell inside another program", plain, sent(question, shell(ShellMarks{Token: "t", Silent: true, Inner: true, Last: inputPending}), kernel(unknown), quiet(quietRest+longer)), inShell, tells(ForInput)},
		{"ask: a silent shell inside another program wants more", plain, sent(more, shell(ShellMarks{Token: "t", Silent: true, Inner: true, Last: 'P'}), kernel(unknown), quiet(promptRest+longer)), inShell, tells(ForContinuation)},
		{"ask: a REPL's program reads the terminal", plain, sent(question, kernel(ready)), inPython, tells(ForInput)},
		{"ask: a REPL's program waits for timers too", plain, sent(question, kernel(onlyTimers), asking), inPython, tells(ForInput)},
		{"ask: a menu of a REPL's program, with a hidden cursor at the margin", plain, sent(Prompt{}, kernel(onlyTimers), asking, hidden), inPython, tells(ForInput)},
		{"ask: a menu of a program of the shell's, with a hidden cursor at the margin", plain, sent(Prompt{}, shell(runs), kernel(onlyTimers), asking, hidden), inShell, tells(ForInput)},
		{"ask: an open line that has stood for long", plain, sent(Prompt{"working… ", 9}, kernel(onlyTimers), asking, quiet(quietRest+longer)), inPython, tells(ForInput)},
		{"ask: text other than the known prompt, and the kernel cannot tell (ssh)", plain, sent(Prompt{"go on ", 6}, kernel(unknown), quiet(quietRest+longer)), inPython, tells(ForInput)},
		{"ask: a continuation prompt behind the last line, and the kernel cannot tell", plain, sent(more, kernel(unknown), quiet(quietRest+longer)), inPython, tells(ForContinuation)},
		{"ask: a shell inside the shell's program shows its prompt", plain, sent(far, shell(runs), kernel(raw), inside(Carries), quiet(innerRest+longer)), inShell, tells(ForInput)},
		{"ask: it ends like a question, and the kernel cannot tell", plain, sent(question, kernel(unknown), quiet(quietRest+longer)), inPython, tells(ForInput)},
		{"ask: the kernel says ready, and no prompt was learned", plain, sent(question, kernel(ready)), inUnknown, tells(ForInput)},

		// Incomplete code.
		{"incomplete: the shell says so", plain, sent(Prompt{"> ", 2}, shell(askMore), kernel(ready)), inShell, tells(ForContinuation)},
		{"incomplete: fish keeps it in its editor", fish, sent(Prompt{"$ if", 4}, shell(typed), kernel(unknown), quiet(quietRest/3+longer)), inShell, tells(ForContinuation)},
		{"incomplete: a continuation prompt", plain, sent(Prompt{"   ...> ", 8}, kernel(ready)), State{Prompt: Prompt{"sqlite> ", 8}}, tells(ForContinuation)},
		{"incomplete: a continuation prompt of a program that waits for timers too", plain, sent(Prompt{"irb:002* ", 9}, standing), inIRB, tells(ForContinuation)},
		{"incomplete: an open string in Python", plain, sent(more, kernel(ready)), inPy(inPython, `s = """`), tells(ForContinuation)},
		{"incomplete: a decorator in Python", plain, sent(more, kernel(ready)), inPy(inPython, "@d"), tells(ForContinuation)},
		{"incomplete: an empty line did not end Python's block", plain, sent(more, kernel(ready)), inPy(inPython, "def f():", ""), tells(ForContinuation)},

		// The code is sent.
		{"send: a shell at its prompt", plain, unsent(dollar, shell(atPrompt), brackets), begin("echo a"), first(whole(types("echo a", AtOnce, Take{})))},
		{"send: several lines to a shell that takes pastes", plain, unsent(dollar, shell(atPrompt), brackets), begin("a\nb"), first(whole(types("a\nb", InBrackets, Take{})))},
		{"send: several lines to a shell that does not", plain, unsent(dollar, shell(atPrompt)), begin("a\nb"), first(types("a", AtOnce, Take{}))},
		{"send: to sh, which does not tell where output begins", plain, unsent(dollar, shell(ShellMarks{Token: "t", Silent: true, Last: 'B', Shown: "$ "})), begin("a"), first(types("a", AtOnce, Take{}))},
		{"send: a program that waits", plain, unsent(python, kernel(ready)), begin("a\nb"), first(types("a", ThenEnter, Take{}))},
		{"send: a program whose editor redraws", plain, unsent(Prompt{"In [1]: ", 8}, kernel(pty.Readiness{State: pty.Ready})), begin("a"), first(redraws(types("a", ThenEnter, Take{})))},
		{"send: a program that waits for timers too", plain, unsent(python, standing), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"send: the kernel cannot tell, and it is silent at a prompt", plain, unsent(python, kernel(unknown), quiet(promptRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"send: the kernel cannot tell, and it is silent for long without a prompt", plain, unsent(Prompt{}, kernel(unknown), quiet(2*quietRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"wait: the kernel cannot tell, and it has printed nothing yet", plain, unsent(Prompt{}, kernel(unknown), quiet(beginRest), printedNothing), begin("a"), Action{Do: Wait}},
		{"send: the kernel cannot tell, and it prints nothing at all", plain, unsent(Prompt{}, kernel(unknown), quiet(beginRest+longer), printedNothing), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"send: with a given prompt the shell's marks do not count", given, unsent(db, shell(atPrompt), brackets), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"send: with a hook the shell's marks do not count", hook, unsent(dollar, shell(atPrompt), brackets), begin("a\nb"), first(types("a", ThenEnter, Take{}))},
		{"send: the shell dropped what stood there", plain, unsent(dollar, shell(ShellMarks{Token: "t", Last: 'B', Ends: 1, Shown: "$ "})), cleared(begin("a"), 1, 1), first(whole(types("a", AtOnce, Take{})))},
		{"send: fish emptied its editor by den's own key", fish, unsent(dollar, shell(ShellMarks{Token: "t", Last: 'B', Emptied: 1, Shown: "$ "})), cleared(begin("a"), 1, 1), first(whole(types("a", AtOnce, Take{})))},
		{"send: fish dropped what stood there, and shows no prompt", fish, unsent(Prompt{}, shell(ended), quiet(promptRest+longer)), cleared(begin("a"), 1, 1), first(whole(types("a", AtOnce, Take{})))},
		{"send: a line that somebody entered was run", plain, unsent(dollar, shell(back), stray(1, true, 0), blank), begin("a"), first(whole(types("a", AtOnce, Take{})))},
		{"send: what was typed went to a program that the shell started", plain, unsent(python, shell(runs), stray(1, false, 0), kernel(ready)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"send: the shell dropped what was typed, which the screen did not show", plain, unsent(dollar, shell(back), stray(1, false, 0)), strays(cleared(begin("a"), 1, 1), 1), first(whole(types("a", AtOnce, Take{})))},
		{"go on: it may not have answered to the last Ctrl-C yet", plain, unsent(dollar, shell(typed), stray(1, false, 0), blank, kernel(ready)), strays(cleared(begin("a"), 1, maxClears), 1), Action{Do: Wait}},
		{"refuse: the shell knows no Ctrl-C, and somebody typed since", plain, unsent(dollar, shell(typed), stray(2, false, 0), blank, kernel(ready), quiet(quietRest+longer)), strays(cleared(begin("a"), 1, maxClears), 1), refuses},
		{"clear: text stands behind the shell's prompt", plain, unsent(Prompt{"$ half", 6}, shell(atPrompt)), begin("a"), Action{Do: Clear}},
		{"clear: text was typed that the screen does not show as text (vi's command mode)", plain, unsent(dollar, shell(typed), stray(1, false, 0), blank, kernel(ready)), begin("a"), Action{Do: Clear}},
		{"clear: text that wraps", plain, unsent(Prompt{"wwww", 4}, shell(typed), stray(1, false, 0), kernel(ready)), begin("a"), Action{Do: Clear}},
		{"clear: a line was entered, and something stands behind the prompt", plain, unsent(dollar, shell(back), stray(1, true, 0)), begin("a"), Action{Do: Clear}},
		{"clear: a line was entered, and the shell has not reported an end (an open quote in fish)", plain, unsent(Prompt{}, shell(typed), stray(1, true, 0), blank, kernel(ready)), begin("a"), Action{Do: Clear}},
		{"clear: the shell is stuck (Ctrl-S)", plain, unsent(Prompt{"$ ec", 4}, shell(typed), stray(1, false, 0), kernel(busy), own, quiet(quietRest+longer)), begin("a"), Action{Do: Clear}},
		{"clear: the shell asks for the rest of a command", plain, unsent(Prompt{"> ", 2}, shell(askMore), kernel(ready)), begin("a"), Action{Do: Clear}},
		{"clear: text was typed since the shell dropped its input", plain, unsent(dollar, shell(back), stray(2, false, 1)), strays(cleared(begin("a"), 1, 1), 1), Action{Do: Clear}},
		{"clear: fish refused the last code, and keeps it", fish, unsent(dollar, shell(ShellMarks{Token: "t", Last: 'B', Refused: true, Shown: "$ "})), begin("a"), Action{Do: Clear}},
		{"clear: again, the shell did not react", plain, unsent(Prompt{"$ half", 6}, shell(atPrompt), quiet(clearRest+longer)), cleared(begin("a"), 1, 1), Action{Do: Clear}},

		{"clear: again, while others work beside the shell (fish makes completions)", fish, unsent(Prompt{"echo )", 6}, shell(typed), foreign, kernel(busy), quiet(clearRest+longer)), cleared(begin("a"), 1, 1), Action{Do: Clear}},

		{"refuse: half a line in a REPL", plain, unsent(Prompt{">>> half", 8}, half(HalfLine{Text: "half", Shown: true}), kernel(ready)), begin("a"), refuses},
		{"refuse: half a line that the terminal edits", plain, unsent(Prompt{}, half(HalfLine{Text: "half", Canonical: true}), kernel(ready)), begin("a"), refuses},
		{"refuse: an entry of a REPL's history", plain, unsent(Prompt{">>> old", 7}, half(HalfLine{Keys: true, Shown: true}), kernel(ready)), State{Lines: []string{"a"}, Learned: python}, refuses},
		{"refuse: the cursor stands before half a line", plain, unsent(python, half(HalfLine{Text: "half", Keys: true, Behind: true, Shown: true}), kernel(ready)), State{Lines: []string{"a"}, Learned: python}, refuses},
		{"send: keys that left no line", plain, unsent(python, half(HalfLine{Text: "q", Shown: true}), kernel(ready)), State{Lines: []string{"a"}, Learned: python}, first(types("a", ThenEnter, Take{}))},
		{"go on: half a line whose echo may be on its way (ssh)", plain, unsent(dollar, half(HalfLine{Text: "half"}), kernel(unknown), quiet(promptRest+longer)), State{Lines: []string{"a"}, Learned: dollar}, wait},
		{"refuse: an editor on the whole screen", plain, unsent(Prompt{}, shell(runs), kernel(editing), altScreen), begin("a"), refusesFor(KeepsScreen)},
		{"refuse: an editor that the kernel does not show", plain, unsent(Prompt{"x", 1}, kernel(raw), altScreen, quiet(innerRest+longer)), begin("a"), refusesFor(KeepsScreen)},
		{"refuse: an editor whose text is as the shell's prompt", plain, unsent(dollar, shell(ShellMarks{Token: "t", Last: 'C', Began: true, Shown: "$ "}), kernel(editing), altScreen), State{Lines: []string{"a"}, Learned: dollar}, refusesFor(KeepsScreen)},
		{"refuse: an editor, and no prompt that was given", given, unsent(Prompt{"x", 1}, kernel(editing), altScreen), begin("a"), refusesFor(KeepsScreen)},
		{"refuse: no marks for an editor", plain, unsent(Prompt{}, shell(runs), kernel(editing), altScreen), State{Lines: []string{""}, OnlyMarks: true}, refuses},
		{"type: a REPL on the whole screen", plain, unsent(python, shell(runs), kernel(editing), altScreen), State{Lines: []string{"a"}, Learned: python}, first(types("a", ThenEnter, Take{}))},
		{"type: a shell that was left with the other screen", plain, unsent(dollar, shell(atPrompt), kernel(editing), altScreen), begin("a"), first(whole(types("a", AtOnce, Take{})))},
		{"refuse: a command that was typed asks for a password", plain, unsent(Prompt{"Password: ", 10}, byHand, kernel(ready)), begin("a"), refusesFor(AsksTyped)},
		{"refuse: a command that was typed asks", plain, unsent(question, byHand, kernel(echoing)), begin("a"), refusesFor(AsksTyped)},
		{"type: a REPL that was begun by typing", plain, unsent(python, byHand, kernel(echoing)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"type: a program that was released asks", plain, unsent(question, shell(runs), kernel(echoing)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"refuse the rest: somebody typed behind the command", plain, sent(dollar, shellEnded(back), stray(1, false, 0), half(HalfLine{Text: "half", Canonical: true}), blank, kernel(ready)), State{Lines: []string{"b"}, ByShell: true, Prompt: dollar}, refuses},
		{"refuse the rest: somebody types at the prompt", plain, sent(Prompt{"$ half", 6}, shellEnded(ShellMarks{Token: "t", Last: inputPending, Ends: 1, Shown: "$ "}), stray(1, false, 1), half(HalfLine{Text: "half", Shown: true}), kernel(ready)), State{Lines: []string{"b"}, ByShell: true, Prompt: dollar}, refuses},
		{"done: somebody types at the prompt behind it", plain, sent(Prompt{"$ half", 6}, shellEnded(ShellMarks{Token: "t", Last: inputPending, Ends: 1, Exit: 3, Shown: "$ "}), stray(1, false, 1), foreign, kernel(ready)), inShell, Action{Do: End, Status: Done, By: ByShell, HasExit: true, ExitCode: 3}},
		{"refuse: Ctrl-C does not empty the shell's input", plain, unsent(Prompt{"$ half", 6}, shell(atPrompt), quiet(quietRest+longer)), cleared(begin("a"), 1, maxClears), Action{Do: Refuse, Status: Failed, By: ByRefusal}},
		{"refuse: something stands in the shell's input each time", plain, unsent(Prompt{"$ half", 6}, shell(ShellMarks{Token: "t", Last: 'B', Ends: 3, Shown: "$ "}), quiet(quietRest+longer)), cleared(begin("a"), 3, maxClears), Action{Do: Refuse, Status: Failed, By: ByRefusal}},
		{"refuse: the shell does not react, and works", plain, unsent(Prompt{"$ half", 6}, shell(typed), kernel(busy), quiet(time.Hour)), cleared(begin("a"), 1, maxClears), Action{Do: Refuse, Status: Failed, By: ByRefusal}},

		// Marks of a shell inside the program.
		{"marks: ask a shell that the kernel shows", plain, unsent(far, kernel(pty.Readiness{State: pty.Ready, PID: 7, Echo: true}), inside(Reads)), begin("a"), Action{Do: Ask}},
		{"marks: ask a shell that something carries", plain, unsent(far, kernel(raw), inside(Carries), quiet(innerRest+longer)), begin("a"), Action{Do: Ask}},
		{"marks: ask one in an image, with a prompt of a user's", plain, unsent(far, kernel(raw), inside(MayCarry), quiet(innerRest+longer)), begin("a"), Action{Do: Ask}},
		{"marks: ask behind a shell's command", plain, unsent(far, shell(runs), kernel(raw), inside(Carries), quiet(innerRest+longer)), begin("a"), Action{Do: Ask}},
		{"marks: the prompt has not stood long enough", plain, unsent(far, kernel(raw), inside(Carries), quiet(innerRest)), begin("a"), wait},
		{"marks: none in an image that shows a bare prompt", plain, unsent(dollar, kernel(raw), inside(MayCarry), quiet(innerRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"marks: none at another prompt", plain, unsent(db, kernel(raw), inside(Carries), quiet(innerRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"marks: none where nothing says that a shell is there", plain, unsent(far, kernel(raw), quiet(innerRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"marks: none where they are off", Program{NoInner: true}, unsent(far, kernel(raw), inside(Carries), quiet(innerRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"marks: none where a prompt was given", given, unsent(far, kernel(raw), inside(Carries), quiet(innerRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"marks: none behind half a line", plain, unsent(Prompt{"me@far:~$ half", 14}, half(HalfLine{Text: "half", Shown: true}), kernel(pty.Readiness{State: pty.Ready, PID: 7}), inside(Reads)), begin("a"), refuses},
		{"marks: none where nothing is shown of what is typed", plain, unsent(far, kernel(pty.Readiness{State: pty.Ready, Canonical: true}), inside(Reads)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"marks: none on the alternate screen", plain, unsent(far, kernel(raw), inside(Carries), altScreen, quiet(innerRest+longer)), State{Lines: []string{"a"}, Learned: far}, first(types("a", ThenEnter, Take{}))},
		{"marks: none for what declined", plain, unsent(far, declinedAt(far), kernel(raw), inside(Carries), quiet(innerRest+longer)), begin("a"), first(types("a", ThenEnter, Take{}))},
		{"marks: no answer yet", plain, unsent(Prompt{}, inquiry(Inquiry{Nonce: "n"}), kernel(raw), quiet(declineRest+longer)), marking(begin("a"), markAsked), wait},
		{"marks: the prompt is as it was, and nothing came back yet (a slow line)", plain, unsent(far, inquiry(Inquiry{Nonce: "n"}), kernel(raw), quiet(declineRest+longer)), marking(begin("a"), markAsked), wait},
		{"marks: a shell answers", plain, unsent(Prompt{}, inquiry(Inquiry{Nonce: "n", Answer: innerBash})), marking(begin("a"), markAsked), Action{Do: Give}},
		{"marks: a shell answers when the cell that asked is gone", plain, unsent(Prompt{}, inquiry(Inquiry{Nonce: "n", Answer: innerBash})), begin("a"), Action{Do: Give}},
		{"marks: the prompt is back without an answer", plain, unsent(far, inquiry(Inquiry{Nonce: "n"}), kernel(raw), quiet(declineRest+longer)), markedAbove(marking(begin("a"), markAsked)), Action{Do: Decline}},
		{"marks: something else came", plain, unsent(question, inquiry(Inquiry{Nonce: "n"}), kernel(raw), quiet(answerRest+longer)), marking(begin("a"), markAsked), refuses},
		{"marks: the shell was interrupted for, and is on its way", plain, unsent(Prompt{}, inquiry(Inquiry{Nonce: "n"}), kernel(raw), pressed), marking(begin("a"), markAsked), wait},
		{"marks: the shell has them", plain, unsent(far, shell(ShellMarks{Token: "t", Inner: true, Last: 'B', Ends: 1, Shown: far.Text})), marking(begin("a"), markGiven), first(whole(types("a", AtOnce, Take{})))},

		// More of the code is sent.
		{"next: a hook decides, the kernel says ready", hook, sent(python, kernel(ready)), lines(inUnknown, "b"), types("b", ThenEnter, Take{})},
		{"next: the given prompt", given, sent(db, kernel(ready)), lines(inUnknown, "b"), types("b", ThenEnter, to(0))},
		{"next: given prompt, another stands there", given, sent(question, kernel(ready)), lines(inUnknown, "b"), types("b", ThenEnter, to(0))},
		{"next: the shell is back at its prompt", plain, sent(dollar, shellEnded(back)), lines(inShell, "b"), nextCommand(types("b", AtOnce, Take{}))},
		{"next: the shell asks for the rest", plain, sent(Prompt{"> ", 2}, shell(askMore), kernel(ready)), lines(inShell, "b"), types("b", AtOnce, to(0))},
		{"next: fish -N has it in its editor", fish, sent(dollar, shell(typed), kernel(unknown), quiet(promptRest+longer)), lines(inShell, "b"), types("b", AtOnce, Take{})},
		{"next: the program waits at its prompt", plain, sent(python, kernel(ready)), lines(inPython, "b"), types("b", ThenEnter, to(0))},
		{"next: the program asks, and the code is no answer", plain, sent(question, kernel(ready)), lines(inPython, "b"), tells(ForInput)},
		{"next: a continuation of an editor that redraws is dropped", plain, sent(Prompt{"irb:002* ", 9}, kernel(pty.Readiness{State: pty.Ready})), lines(inIRB, "b"), redraws(types("b", ThenEnter, Take{What: Drop}))},
		{"next: a continuation prompt, and the kernel cannot tell", plain, sent(more, kernel(unknown), quiet(promptRest+longer)), lines(inPy(inPython, "def f():"), " b"), types(" b", ThenEnter, to(0))},
		{"next: silence, and no prompt is known", plain, sent(Prompt{"other> ", 7}, kernel(unknown), quiet(quietRest+longer)), lines(inUnknown, "b"), types("b", ThenEnter, to(0))},
		{"next: an empty line ends Python's block before the margin", plain, sent(more, kernel(ready)), lines(inPy(inPython, "def f():", " a"), "f()"), types("", ThenEnter, to(0))},
		{"next: an empty line ends Python's last block", plain, sent(more, kernel(ready)), inPy(inPython, "def f():", " a"), types("", ThenEnter, to(0))},
		{"next: an empty line inside Python's block is skipped", plain, sent(more, kernel(ready)), lines(inPy(inPython, "def f():", " a"), "", " b"), types(" b", ThenEnter, to(0))},

		{"next: an empty line ends Python's last block, with a given prompt", Program{Prompt: ">>>"}, sent(more, kernel(ready)), inPy(inUnknown, "def f():", " a"), types("", ThenEnter, to(0))},
		{"next: an empty line ends Python's block before the margin, with a given prompt", Program{Prompt: ">>>"}, sent(more, kernel(ready)), lines(inPy(inUnknown, "def f():", " a"), "f()"), types("", ThenEnter, to(0))},

		// It goes on.
		{"go on: a shell has yet to show its first prompt", plain, unsent(Prompt{}, shell(ShellMarks{Token: "t"}), quiet(time.Hour)), begin("a"), wait},
		{"go on: the shell's prompt is about to change", plain, unsent(dollar, shell(atPrompt), foreign, kernel(busy), own), begin("a"), wait},
		{"go on: the program works before the code was sent", plain, unsent(python, kernel(busy), quiet(time.Hour)), begin("a"), wait},
		{"go on: it may not have begun (ssh connects)", plain, unsent(Prompt{}, kernel(unknown), quiet(quietRest+longer)), begin("a"), wait},
		{"go on: a program that waits for timers too, in a terminal that edits", plain, unsent(python, standing, (func(o *Observed) { o.Probe.Canonical = true })), begin("a"), wait},
		{"go on: a command that somebody typed runs, in a shell that does not tell", plain, unsent(Prompt{}, shell(typed), stray(1, true, 0), kernel(busy), quiet(time.Hour)), begin("a"), wait},
		{"go on: the shell drops what stands there", plain, unsent(Prompt{"$ half", 6}, shell(atPrompt)), cleared(begin("a"), 1, 1), wait},
		{"go on: the shell, which has no processor, has not come to Ctrl-C", plain, unsent(Prompt{"$ half", 6}, shell(typed), kernel(lagging), own, quiet(lagRest-longer)), cleared(begin("a"), 1, 1), wait},
		{"go on: nor when it was told thrice", plain, unsent(Prompt{"$ half", 6}, shell(typed), kernel(lagging), own, quiet(lagRest-longer)), cleared(begin("a"), 1, maxClears), wait},
		{"refuse: the shell runs for ever", plain, unsent(Prompt{"$ half", 6}, shell(typed), kernel(lagging), own, quiet(lagRest+longer)), cleared(begin("a"), 1, maxClears), Action{Do: Refuse, Status: Failed, By: ByRefusal}},
		{"go on: somebody runs a command where something was to be dropped", plain, unsent(Prompt{}, shell(runs), kernel(busy), quiet(time.Hour)), cleared(begin("a"), 1, 1), wait},
		{"go on: it was told thrice to drop what stands there", plain, unsent(Prompt{"$ half", 6}, shell(typed), kernel(busy), quiet(quietRest)), cleared(begin("a"), 1, maxClears), wait},
		{"go on: the hook decides", hook, sent(python, kernel(ready), quiet(time.Hour)), inUnknown, wait},
		{"go on: a hook's program works", hook, sent(python, kernel(busy)), lines(inUnknown, "b"), wait},
		{"go on: the given prompt is in the output of a program that works", given, sent(db, kernel(busy), quiet(time.Hour)), inUnknown, wait},
		{"go on: the given prompt is the one from before", given, sent(db, kernel(ready), notAnswered), inUnknown, wait},
		{"go on: the given prompt is the one from before the last line, and the kernel cannot tell", given, sent(db, kernel(unknown), notHeard, quiet(time.Hour)), inUnknown, wait},
		{"go on: the given prompt is the one from before a line that is not written yet", given, sent(db, quiet(promptRest+longer)), inUnknown, wait},
		{"go on: the given prompt has not stood long enough", given, sent(db, kernel(unknown), quiet(promptRest)), inUnknown, wait},
		{"go on: the given prompt did not come, and silence says nothing", given, sent(Prompt{}, kernel(unknown), quiet(time.Hour)), inUnknown, wait},
		{"go on: the command ended, and another program than the shell reads", plain, sent(Prompt{}, shellEnded(ended), kernel(ready), quiet(time.Hour)), inShell, wait},
		{"go on: the command ended, and the prompt is about to come", plain, sent(Prompt{}, shellEnded(ended), quiet(time.Hour)), inShell, wait},
		{"go on: the shell's prompt behind foreign input is not final", plain, sent(dollar, shellEnded(back), foreign, quiet(2*promptRest)), inShell, wait},
		{"go on: the shell's command is silent", plain, sent(Prompt{}, shell(runs), kernel(unknown), quiet(time.Hour)), inShell, wait},
		{"go on: a program pauses behind an open line", plain, sent(Prompt{"working… ", 9}, kernel(onlyTimers), asking, quiet(quietRest-longer)), inPython, wait},
		{"go on: a command of the shell's pauses behind an open line", plain, sent(Prompt{"working… ", 9}, shell(runs), kernel(onlyTimers), asking, quiet(quietRest-longer)), inShell, wait},
		{"go on: the shell's command works", plain, sent(Prompt{}, shell(runs), kernel(busy)), inShell, tells("")},
		{"go on: a flood, and the kernel was not asked", plain, sent(Prompt{"line 5000", 9}, shell(runs)), inShell, wait},
		{"go on: a flood of a program without marks", plain, sent(Prompt{"line 5000", 9}, kernel(busy)), inPython, tells("")},
		{"go on: a flood that shows the prompt in passing", plain, sent(python, kernel(busy)), inPython, tells("")},
		{"go on: the shell went, which is about to be told", plain, sent(Prompt{}, shell(runs), kernel(gone), quiet(quietRest+longer)), inShell, wait},
		{"go on: the program went, which is about to be told", plain, sent(python, kernel(gone), quiet(quietRest+longer)), inPython, wait},
		{"go on: the program works at its prompt", plain, sent(python, kernel(busy), quiet(time.Hour)), inPython, tells("")},
		{"go on: a full-screen program", plain, sent(Prompt{}, kernel(unknown), altScreen, quiet(time.Hour)), inPython, tells("")},
		{"go on: the learned prompt is the one from before, and the echo is late", plain, sent(python, kernel(unknown), notHeard, quiet(time.Hour)), inPython, wait},
		{"go on: the continuation prompt is the one from before, and the echo is late", plain, sent(more, kernel(unknown), notHeard, quiet(time.Hour)), lines(inPy(inPython, "def f():"), " b"), wait},
		{"go on: the learned prompt has not stood long enough", plain, sent(python, kernel(unknown), quiet(promptRest)), inPython, wait},
		{"go on: what carries a shell is at work while a question stands", plain, sent(question, shell(ShellMarks{Token: "t", Inner: true, Last: 'C'}), kernel(busy), quiet(innerRest+longer)), inShell, wait},
		{"work: what carries a shell, behind new output", plain, sent(question, shell(ShellMarks{Token: "t", Inner: true, Last: 'C'}), kernel(busy), quiet(longer)), inShell, tells("")},
		{"work: a command of a shell that the kernel shows", plain, sent(question, shell(ShellMarks{Token: "t", Inner: true, Last: 'C', Inquiry: Inquiry{Local: true}}), kernel(busy), quiet(innerRest+longer)), inShell, tells("")},
		{"go on: a command is silent in a silent shell inside another program", plain, sent(Prompt{}, shell(ShellMarks{Token: "t", Silent: true, Inner: true, Last: inputPending}), kernel(unknown), quiet(quietRest+longer)), inShell, wait},
		{"go on: a shell inside another program has yet to tell what it makes of the code (a slow line)", plain, sent(far, shell(ShellMarks{Token: "t", Inner: true, Last: inputPending}), kernel(unknown), quiet(quietRest+longer)), inShell, wait},
		{"go on: a REPL pauses and shows nothing to answer (await in Node)", plain, sent(Prompt{}, kernel(onlyTimers), asking), inPython, wait},
		{"go on: a program of the shell's pauses and shows nothing to answer", plain, sent(Prompt{}, shell(runs), kernel(onlyTimers), asking), inShell, wait},
		{"go on: the program has not stood still long enough", plain, sent(python, kernel(onlyTimers), quiet(promptRest)), inPython, wait},
		{"go on: silence of a program whose prompt is known and not back (sleep behind ssh)", plain, sent(Prompt{}, kernel(unknown), quiet(time.Hour)), inPython, wait},
		{"go on: text other than the known prompt has not stood long enough (ssh)", plain, sent(Prompt{"go on ", 6}, kernel(unknown), quiet(quietRest)), inPython, wait},
		{"go on: silence has not lasted", plain, sent(Prompt{"other> ", 7}, kernel(unknown), quiet(quietRest)), inPython, wait},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := Decide(c.program, c.o, c.s)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// What the cell knows after a decision.
func TestDecideState(t *testing.T) {
	t.Run("send learns the prompt", func(t *testing.T) {
		_, s := Decide(Program{}, unsent(python, kernel(ready)), Begin("a\nb\n", Prompt{}))
		want := State{Lines: []string{"b"}, Typed: "a", Prompt: python, Learned: python}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("got %+v, want %+v", s, want)
		}
	})
	t.Run("send keeps the learned prompt behind output without a newline", func(t *testing.T) {
		for _, left := range []Prompt{{"out>>> ", 7}, {}} {
			if _, s := Decide(Program{}, unsent(left, kernel(ready)), Begin("a", python)); s.Prompt != python || s.Learned != python {
				t.Errorf("%q: %+v", left.Text, s)
			}
		}
	})
	t.Run("send to a shell leaves nothing to type", func(t *testing.T) {
		_, s := Decide(Program{}, unsent(dollar, shell(atPrompt), brackets), Begin("a\nb", Prompt{}))
		if want := (State{ByShell: true, Prompt: dollar, Learned: dollar}); !reflect.DeepEqual(s, want) {
			t.Errorf("got %+v, want %+v", s, want)
		}
	})
	t.Run("a shell that drops text tells one more end", func(t *testing.T) {
		_, s := Decide(Program{}, unsent(Prompt{"$ half", 6}, shell(ShellMarks{Token: "t", Last: 'B', Ends: 4, Shown: "$ "})), Begin("a", Prompt{}))
		if s.Cleared != 5 || s.Clears != 1 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a given prompt is known behind output without a newline", func(t *testing.T) {
		_, s := Decide(Program{Prompt: "db>"}, sent(Prompt{"out db> ", 8}, kernel(ready)), State{Lines: []string{"b"}})
		if s.Prompt != (Prompt{"db> ", 4}) {
			t.Errorf("%+v", s.Prompt)
		}
	})
	t.Run("the prompt of a shell that lost its marks is learned", func(t *testing.T) {
		left := Prompt{"new% ", 5}
		if _, s := Decide(Program{}, sent(left, shell(runs), kernel(ready), own, brackets, interrupted), State{ByShell: true, Learned: dollar}); s.Learned != left {
			t.Errorf("%+v", s.Learned)
		}
	})
}

// When the kernel is asked.
func TestProbeAfter(t *testing.T) {
	inShell := State{ByShell: true}
	for _, c := range []struct {
		name    string
		program Program
		o       Observed
		s       State
		ago     time.Duration
		want    time.Duration
	}{
		{"the shell told enough", Program{}, sent(dollar, shellEnded(back)), inShell, time.Hour, floodPause},
		{"the shell will tell of the end", Program{}, sent(dollar, shell(runs), quiet(time.Millisecond)), inShell, time.Hour, tellPause - time.Millisecond},
		{"the shell has not told for a while", Program{}, sent(dollar, shell(runs), quiet(tellPause)), inShell, time.Hour, 0},
		{"the user's prompt decides, not the shell", Program{Prompt: "x"}, sent(dollar, shellEnded(back), quiet(time.Millisecond)), State{}, time.Hour, 0},
		{"it has just written", Program{}, sent(python), State{}, time.Hour, breath},
		{"it wrote a moment ago", Program{}, sent(python, quiet(breath-1)), State{}, time.Hour, breathAgain},
		{"it wrote since the last probe", Program{}, sent(python, quiet(breath)), State{}, breath + 1, 0},
		{"nothing happened since the last probe", Program{}, sent(python, quiet(time.Hour)), State{}, time.Microsecond, ProbePause - time.Microsecond},
		{"the last probe was long ago", Program{}, sent(python, quiet(time.Hour)), State{}, time.Second, 0},
	} {
		if got := ProbeAfter(c.program, c.o, c.s, c.ago); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Input that no cell typed has taken effect when the prompt of a shell that the
// kernel does not show has stood for long enough: later cells need not wait again.
func TestSettled(t *testing.T) {
	in := ShellMarks{Token: "t", Inner: true, Last: 'B'}
	near := in
	near.Inquiry.Local = true
	for _, c := range []struct {
		name string
		o    Observed
		want bool
	}{
		{"the prompt stands", sent(dollar, shell(in), foreign, quiet(2*promptRest+longer)), true},
		{"it came a moment ago", sent(dollar, shell(in), foreign, quiet(promptRest)), false},
		{"a command runs", sent(dollar, shell(ShellMarks{Token: "t", Inner: true, Last: 'C'}), foreign, quiet(time.Minute)), false},
		{"the kernel shows the shell", sent(dollar, shell(near), foreign, quiet(time.Minute)), false},
		{"nobody typed", sent(dollar, shell(in), quiet(time.Minute)), false},
	} {
		if got := c.o.Settled(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestSure(t *testing.T) {
	for _, c := range []struct {
		o    Observed
		want string
	}{
		{sent(Prompt{"Name? ", 6}, kernel(ready)), Exact},
		{sent(Prompt{"name ", 5}, kernel(ready)), Exact},
		{sent(Prompt{"Name? ", 6}, kernel(onlyTimers)), Likely},
		{sent(Prompt{"[y/N] ", 6}, kernel(unknown)), Likely},
		{sent(Prompt{}, kernel(onlyTimers), hidden), Likely},
		{sent(Prompt{"building… ", 10}, kernel(unknown)), Guess},
	} {
		if got := c.o.Sure(); got != c.want {
			t.Errorf("%q: %s, want %s", c.o.Left.Text, got, c.want)
		}
	}
}
