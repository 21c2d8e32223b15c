package host

import (
	"path/filepath"
	"strings"
	"time"

	"den/internal/cell"
	"den/internal/keys"
	"den/internal/pty"
	"den/internal/screen"
	"den/internal/wire"
)

// The pauses of the last resorts: how long a learned prompt must stand, and
// how long a program of which nothing is known must be silent.
const (
	promptRest = 100 * time.Millisecond
	quietRest  = 1500 * time.Millisecond
	// goneRest is how long the end of a program that is not there any more may
	// take to be known; after that it is there, but not to be seen.
	goneRest = 3 * quietRest
	// timerStand is how long a program that waits for the terminal and for
	// timers of its own must have stood still at a prompt that is known: an
	// editor may pause for a moment between a key and what it draws (irb).
	timerStand = 2 * time.Millisecond
	// timerRest is how long a program that waits for the terminal and for
	// timers of its own must have stood still to be taken for asking.
	timerRest = 300 * time.Millisecond
	// tickRest is the same for one that looks around in between.
	tickRest = time.Second
	// clearRest is how long a shell may take to drop what stands behind its
	// prompt, before it is told again.
	clearRest = 200 * time.Millisecond
)

// lookPause bounds how often the kernel is asked: in a flood a probe costs more
// than a turn. Where a shell tells of the end it is asked only for questions,
// and not before tellPause.
const (
	lookPause = time.Millisecond
	tellPause = 20 * time.Millisecond
	// breath is how long a program that has just written something is left
	// alone: most likely it goes on.
	breath = 150 * time.Microsecond
)

// drive brings a cell to its end: it waits until the program can take the
// code, sends it, and watches for the end.
func (r *running) drive() {
	h := r.cells.h
	check := h.newReadyCheck()
	pause := time.NewTimer(lastProbePause)
	defer pause.Stop()
	r.turn.poke() // the first look is now
	sent := r.isSent()
	probed := -lookPause
	var short time.Duration // how long to nap before the next look
	for {
		if short > 0 {
			nap(short)
			short = 0
			r.turn.poke()
		}
		select {
		case <-r.turn.moved:
		case <-pause.C:
		case <-r.hookEnded():
			r.finishHook()
			return
		case <-h.ending:
			r.finishExit()
			return
		case <-h.stopCells: // the host replaces its binary, and takes the cell along
			if r.turn.hook != nil {
				r.turn.hook.close()
			}
			return
		}
		s, activity := r.see()
		if !sent && r.cells.restsSince(activity) {
			s.ready = true
		} else if wait := r.probeAfter(s, sent, probed); wait == 0 {
			s.probeBy(check, activity)
			probed = h.core.clock()
			s.shellRuns = s.probe.State == pty.Busy && s.probe.PID == h.manifest().PID
			if s.ready {
				h.core.atRest(activity)
				s.foreign = false
			}
		} else if !s.told(sent) {
			short = pauseFor(pause, wait)
			continue
		}
		switch {
		case !sent:
			if !r.isPressed() && (!s.can() || r.clearing(s)) {
				break
			}
			if sent = r.markSent(); !sent { // nothing was sent, and nothing will be
				r.finish(cell.Result{Status: cell.Failed})
				return
			}
			r.send(s)
		case r.over(s):
			return
		}
		if r.isFinal() { // it could not be sent
			return
		}
		short = pauseFor(pause, check.backoff())
	}
}

// precise is the shortest pause that Go's own timers keep on Linux: when nothing
// else runs they wait in whole milliseconds.
const precise = time.Millisecond

// pauseFor sets the timer, unless the pause is too short for one: then it is
// returned, to be slept.
func pauseFor(t *time.Timer, d time.Duration) (short time.Duration) {
	if d < precise {
		return d
	}
	t.Reset(d)
	return 0
}

func (r *running) isSent() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	return r.sent
}

func (r *running) isFinal() bool {
	res, _ := r.look()
	return res.Final()
}

func (r *running) isPressed() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	return r.pressed
}

func (r *running) isInterrupted() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	return r.interrupted
}

// markSent notes that from now on Ctrl-C must reach the program. It reports
// false if somebody interrupted the cell before.
func (r *running) markSent() bool {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.sent = !r.pressed
	return r.sent
}

// hookEnded is nil, and blocks for ever, where no hook runs.
func (r *running) hookEnded() <-chan struct{} {
	if r.turn.hook == nil {
		return nil
	}
	return r.turn.hook.ended
}

// seen is what is known of the program at one moment.
type seen struct {
	shell    shellMarks
	over     bool // the shell said that the command ended
	ready    bool // two probes agree, with nothing between
	probe    pty.Readiness
	asking   bool          // it waits for the terminal and for timers, and has done nothing else for a while
	stood    time.Duration // see readyCheck
	prompt   prompt
	line     int64 // of the cursor
	quiet    time.Duration
	answered uint64 // seq of the last output
	activity uint64 // of core
	foreign  bool   // see core
	// shellRuns says that the session's own program is at work.
	shellRuns bool
	cleared   bool // the shell dropped what stood behind its prompt, and shows none (fish)
	bracket   bool
	altShown  bool
}

// see looks at the screen and at what the shell told.
func (r *running) see() (s seen, activity uint64) {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	s = seen{shell: c.shell, over: r.turn.over, answered: c.outputSeq, quiet: c.clock() - max(c.lastOutput, c.lastInput)}
	cur := c.term.Cursor()
	s.prompt = prompt{cell.PromptAt(c.term), cur.Col}
	s.line = c.term.ScreenLine() + int64(cur.Row)
	m := c.term.Modes()
	s.bracket, s.altShown = m.BracketedPaste, m.AltScreen
	s.activity, s.foreign = c.activity, c.foreign
	s.cleared = r.cleared > 0 && c.shell.ends >= r.cleared && c.shell.last == 'D' && s.quiet > promptRest
	return s, c.activity
}

// probeBy asks the kernel too.
func (s *seen) probeBy(check *readyCheck, activity uint64) {
	s.ready = check.seen(activity)
	s.probe, s.stood = check.last, check.stood()
	s.asking = s.stood > timerRest || check.ticked() > tickRest
}

// told reports whether the shell says enough to go on without the kernel.
func (s *seen) told(sent bool) bool {
	return s.shell.atPrompt() && (s.over || !sent) && !s.foreign
}

// promptHolds reports whether the shell's prompt is its last word. Behind input
// that no cell typed that is so once the kernel says that the shell rests, or
// when nothing more came for a while: beside some shells others work at the
// prompt (fish makes completions).
func (s *seen) promptHolds() bool {
	if !s.shell.atPrompt() {
		return false
	}
	return !s.foreign || s.ready || s.quiet > quietRest || s.quiet > 2*promptRest && !s.shellRuns
}

// probeAfter returns how long to wait before the kernel is asked, 0 for now.
func (r *running) probeAfter(s seen, sent bool, probed time.Duration) time.Duration {
	now := r.cells.h.core.clock()
	plain := r.turn.hook == nil && r.cells.hook == "" && r.cells.given == ""
	switch {
	case plain && s.told(sent):
		return lookPause
	case plain && sent && r.byShell && !(s.over && s.shell.atPrompt()) && s.quiet < tellPause:
		return tellPause - s.quiet
	}
	if wait := breath - s.quiet; wait > 0 {
		return max(wait, 50*time.Microsecond)
	}
	if s.quiet < now-probed { // it wrote since: what was seen then is old
		return 0
	}
	return max(0, againPause-(now-probed))
}

// can reports whether the program takes code now.
func (s seen) can() bool {
	if s.shell.token != "" && s.shell.last == 0 {
		return s.ready // a shell that has yet to show its first prompt
	}
	switch {
	case s.promptHolds() || s.ready || s.cleared:
		return true
	case s.shell.atPrompt(): // about to change
		return false
	case s.prompt.text == "": // it may not have begun (ssh that connects)
		return s.probe.State == pty.Unknown && s.quiet > 2*quietRest
	case s.stood > timerStand && !s.probe.Canonical:
		return true
	}
	return s.probe.State == pty.Unknown && s.quiet > promptRest
}

// send types the code, whole into a shell with marks, and otherwise the first
// of its lines.
func (r *running) send(s seen) {
	c := r.cells.h.core
	code := strings.TrimRight(r.code, "\n")
	r.prompt = r.cells.learn(s.prompt)
	r.byShell = (s.shell.atPrompt() || s.cleared) && r.cells.given == "" && r.cells.hook == ""
	r.lines = strings.Split(code, "\n")
	if path := r.cells.hook; path != "" {
		hook, err := startHook(path)
		if err != nil {
			r.finish(cell.Result{Status: cell.Failed, Output: err.Error()})
			return
		}
		r.turn.hook = hook
	}
	c.mu.Lock()
	r.turn.ends = c.shell.ends
	c.cell = r.turn
	r.sentSeq = c.outputSeq
	c.mu.Unlock()
	if r.byShell && !s.shell.silent && (len(r.lines) == 1 || s.bracket) {
		c.mu.Lock()
		r.turn.typed = &typedAt{s.line, s.prompt.col, r.lines}
		c.mu.Unlock()
		r.lines = nil
		r.submit(code, s)
		return
	}
	r.next(s)
}

// keepsRefused reports whether the session's shell leaves code that it refused
// in its editor.
func (h *Host) keepsRefused() bool { return filepath.Base(h.manifest().Command[0]) == "fish" }

// clearing reports whether something that stood behind the shell's prompt is
// being dropped, and sees to it. A shell that was drawing its prompt may have
// lost the key: it is pressed again.
func (r *running) clearing(s seen) bool {
	switch {
	case r.cleared == 0 && (s.shell.leftover(s.prompt.text) || s.shell.refused && r.cells.h.keepsRefused()):
		r.cleared = s.shell.ends + 1
		r.clear()
		return true
	case r.cleared > 0 && s.shell.ends < r.cleared && r.clears < intPresses:
		if s.quiet > clearRest {
			r.clear()
		}
		return true
	}
	return false
}

// clear drops what stands behind the shell's prompt, as a person would: the
// code is run alone.
func (r *running) clear() {
	r.clears++
	if _, err := r.cells.h.sendInput(wire.Input{Keys: []string{"C-c"}}); err != nil {
		r.finish(cell.Result{Status: cell.Failed, Output: "send failed: " + err.Error()})
	}
}

// next types one more line of the code.
func (r *running) next(s seen) {
	line := r.lines[0]
	r.lines, r.typed = r.lines[1:], line
	c := r.cells.h.core
	c.mu.Lock()
	r.turn.take = cell.NewCollector(r.turn.sink, s.line, s.prompt.col)
	if r.redraws(s) {
		primary := r.prompt.text
		r.turn.take.ExpectRedrawn(line, func(text string) bool {
			return cell.SamePrompt(text, primary) || cell.IsContinuation(text, primary)
		})
	} else {
		r.turn.take.Expect(line)
	}
	c.mu.Unlock()
	r.submit(line, s)
}

// redraws reports whether the program has an editor of its own that may draw
// its input again (irb, ipython): its prompt counts, in a terminal that does
// not edit for it.
func (r *running) redraws(s seen) bool {
	return !s.probe.Canonical && strings.ContainsAny(s.prompt.text, "0123456789")
}

// submit sends text and Enter. In paste brackets a tab completes nothing; where
// there is none they are left away, because readline draws a pasted line twice,
// and at the wrong place behind output without a newline. A shell's line editor
// takes text and Enter in one write; of other programs it is not known, so they
// read the text before Enter comes.
func (r *running) submit(text string, s seen) {
	h := r.cells.h
	bracket := s.bracket
	in := wire.Input{Text: &text, Enter: true}
	switch {
	case bracket && strings.ContainsAny(text, "\t\n"):
		in = wire.Input{Raw: append(keys.Paste([]byte(text), h.core.modes()), '\r')}
	case r.byShell:
		in = wire.Input{Raw: append(keys.Text(text), '\r')}
	}
	if _, err := h.typeIn(in, typist{brisk: !r.redraws(s)}); err != nil {
		r.finish(cell.Result{Status: cell.Failed, Output: "send failed: " + err.Error()})
	}
}

// over decides whether the cell has ended, and ends it.
func (r *running) over(s seen) bool {
	if r.turn.hook != nil {
		if s.ready && len(r.lines) > 0 {
			r.next(s)
		}
		return false // the hook decides
	}
	if given := r.cells.given; given != "" {
		return r.overByPrompt(s, given)
	}
	switch {
	case !r.byShell && s.ready && r.isInterrupted() && r.holdsInput(s):
		return false // it has not heard Ctrl-C, and is sent another
	case !r.byShell && s.ready && r.isInterrupted():
		// It has heard Ctrl-C and waits for input again, whatever its prompt.
		r.takeLine(s)
		r.finish(cell.Result{Status: cell.Failed, By: cell.ByInt})
		return true
	case r.byShell && s.ready && s.bracket && s.shell.last == 'C' && s.probe.PID == r.cells.h.manifest().PID && r.isInterrupted():
		// The shell itself edits a line after Ctrl-C, and told of no end: its
		// prompts have lost their marks, or another shell is in its place.
		r.takeLine(s)
		r.cells.forgetShell(s.prompt)
		r.finish(cell.Result{Status: cell.Failed, By: cell.ByInt})
		return true
	case s.over && s.promptHolds() && len(r.lines) > 0:
		r.nextCommand(s)
		return false
	case s.over && s.promptHolds():
		code := s.shell.exit
		r.finish(cell.Result{Status: cell.Done, By: cell.ByShell, ExitCode: &code})
		return true
	case s.over:
		return false // the prompt is about to come
	case s.ready:
		return r.atRest(s)
	case s.probe.Gone && s.quiet < goneRest:
		return false // the program ended, which is about to be told
	case r.byShell && s.shell.last == inputPending && s.probe.State == pty.Unknown && s.quiet > promptRest && len(r.lines) > 0:
		r.next(s) // into an editor of its own (fish -N), which shows no other prompt
		return false
	case r.byShell && s.shell.last == inputPending && s.probe.State == pty.Unknown && s.quiet > quietRest/3:
		what := cell.ForContinuation // an editor of its own (fish), and nothing began
		if s.shell.silent {
			what = cell.ForInput
		}
		r.setWaiting(what)
		return false
	case r.byShell && s.shell.last == 'C' && s.asking:
		r.setWaiting(cell.ForInput)
		return false
	case r.byShell && s.shell.last == 'C' && s.probe.State == pty.Unknown && s.prompt.text != "" && s.quiet > quietRest:
		r.setWaiting(cell.ForInput) // it waits for the terminal among others (ssh), behind an open line
		return false
	case r.byShell: // it will tell
		if s.probe.State == pty.Busy {
			r.setWaiting("")
		}
		return false
	case s.stood > timerStand && r.prompt.text != "" && (cell.SamePrompt(s.prompt.text, r.prompt.text) || cell.IsContinuation(s.prompt.text, r.prompt.text)):
		return r.rested(s, cell.ByLearned)
	case s.asking:
		r.setWaiting(cell.ForInput)
		return false
	case s.probe.State != pty.Unknown || s.altShown:
		r.setWaiting("")
		return false
	case r.prompt.text != "" && cell.SamePrompt(s.prompt.text, r.prompt.text) && s.quiet > promptRest:
		return r.rested(s, cell.ByLearned)
	case len(r.lines) > 0 && s.quiet > promptRest && cell.IsContinuation(s.prompt.text, r.prompt.text):
		return r.rested(s, cell.ByLearned)
	case s.quiet > quietRest && cell.IsQuestion(s.prompt.text, r.prompt.text):
		r.setWaiting(cell.ForInput)
		return false
	case s.quiet > quietRest:
		return r.rested(s, cell.ByQuiet)
	}
	return false
}

// holdsInput reports whether a part of the code stands behind the prompt, and
// nothing else: the terminal dropped the rest at Ctrl-C, and the program's
// editor missed the signal (Python's does, while it takes a key).
func (r *running) holdsInput(s seen) bool {
	typed, ok := strings.CutPrefix(s.prompt.text, r.prompt.text)
	typed = strings.TrimSpace(typed)
	return ok && typed != "" && strings.HasPrefix(strings.TrimSpace(r.typed), typed)
}

// overByPrompt decides by the prompt that the user gave. It does not count
// while the kernel says that the program works: output may hold it too.
func (r *running) overByPrompt(s seen, given string) bool {
	shown := strings.TrimRight(s.prompt.text, " ")
	switch {
	case s.probe.State == pty.Busy || s.answered == r.sentSeq:
	case strings.HasSuffix(shown, given) && (s.ready || s.quiet > promptRest):
		before, _ := strings.CutSuffix(shown, given) // output without a newline
		r.prompt = prompt{strings.TrimPrefix(s.prompt.text, before), s.prompt.col - len([]rune(before))}
		r.takeLine(s)
		if len(r.lines) > 0 {
			r.next(s)
			return false
		}
		r.finish(cell.Result{Status: cell.Done, By: cell.ByPrompt})
		return true
	case s.ready && len(r.lines) > 0:
		r.takeLine(s)
		r.next(s)
	case s.ready:
		r.setWaiting(cell.ForInput)
	}
	return false
}

// atRest decides for a program that certainly waits for input.
func (r *running) atRest(s seen) bool {
	switch {
	case !r.byShell:
		return r.rested(s, cell.ByReady)
	case s.shell.last == 'P' && len(r.lines) > 0:
		r.takeLine(s)
		r.next(s)
	case s.shell.last == 'P':
		r.setWaiting(cell.ForContinuation)
	default:
		r.setWaiting(cell.ForInput)
	}
	return false
}

// nextCommand types one more line of the code at the shell's prompt.
func (r *running) nextCommand(s seen) {
	c := r.cells.h.core
	c.mu.Lock()
	r.turn.over, r.turn.ends = false, c.shell.ends
	c.mu.Unlock()
	r.next(s)
}

// rested is for a program that reads a line at a time and wants the next: it
// gets more of the code, or has ended it, or asks something.
func (r *running) rested(s seen, by cell.By) bool {
	inBlock := cell.InBlock(s.prompt.text, r.prompt.text)
	switch {
	case len(r.lines) > 0:
		if inBlock {
			r.feedBlock()
		}
		r.takeOrSkip(s)
		r.next(s)
		return false
	case inBlock && r.typed != "" && !r.python().Within() && !r.python().Decorated():
		r.lines = []string{""} // an empty line ends a block
		r.takeLine(s)
		r.next(s)
		return false
	case cell.SamePrompt(s.prompt.text, r.prompt.text):
	case cell.IsContinuation(s.prompt.text, r.prompt.text):
		r.setWaiting(cell.ForContinuation)
		return false
	case by == cell.ByQuiet:
	case strings.HasSuffix(s.prompt.text, r.prompt.text) && r.prompt.text != "":
	default:
		r.setWaiting(cell.ForInput)
		return false
	}
	r.takeLine(s)
	if by == cell.ByReady {
		r.cells.rests(s.activity)
	}
	r.finish(cell.Result{Status: cell.Done, By: by})
	return true
}

// feedBlock makes Python's REPL take what a file would mean: empty lines
// inside a block do not end it, and a line at the margin does. An empty line
// that did not end it is not sent again.
func (r *running) feedBlock() {
	if r.python().Within() {
		return
	}
	for len(r.lines) > 1 && strings.TrimSpace(r.lines[0]) == "" {
		r.lines = r.lines[1:]
	}
	if r.typed != "" && !r.python().Decorated() && cell.EndsBefore(r.lines[0]) {
		r.lines = append([]string{""}, r.lines...)
	}
}

// python is how far the code that was typed has come, for Python's REPL.
func (r *running) python() *cell.Python {
	lines := strings.Split(strings.TrimRight(r.code, "\n"), "\n")
	for done := len(lines) - len(r.lines); r.pythonDone < done; r.pythonDone++ {
		r.pythonSeen.Add(lines[r.pythonDone])
	}
	return &r.pythonSeen
}

// beforePrompt is where the output ends on a last line that a program left at
// col: a program that was killed at its prompt had printed that too.
func (r *running) beforePrompt(last string, col int) int {
	p := r.prompt
	switch {
	case r.byShell || p.text == "":
		return col
	case cell.SamePrompt(last, p.text):
		return 0
	case strings.HasSuffix(last, p.text):
		return max(col-p.col, 0)
	}
	return col
}

// takeOrSkip takes what the last line of code printed. A program that asks for
// more of an input has run nothing yet: what changed is its editor's.
func (r *running) takeOrSkip(s seen) {
	if !r.redraws(s) || !cell.IsContinuation(s.prompt.text, r.prompt.text) {
		r.takeLine(s)
		return
	}
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	r.turn.take = nil
}

// takeLine takes what the last line of code printed: all before the prompt.
func (r *running) takeLine(s seen) {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.turn.take == nil {
		return
	}
	col := 0
	if p := r.prompt; p.text != "" && s.prompt.text != p.text && strings.HasSuffix(s.prompt.text, p.text) && !cell.IsContinuation(s.prompt.text, p.text) {
		col = s.prompt.col - p.col // output without a newline stands before it
	}
	r.turn.take.Finish(c.term, s.line, max(col, 0))
	r.turn.take = cell.NewCollector(r.turn.sink, s.line, s.prompt.col)
}

// setWaiting notes what the program waits for, "" for nothing.
func (r *running) setWaiting(what string) {
	res, _ := r.look()
	if res.WaitingFor == what {
		return
	}
	text := r.outputSoFar()
	r.update(func(rec *cell.Record) {
		rec.WaitingFor = what
		if what != "" {
			rec.Output = text
		}
	})
}

// finishExit ends the cell with its session.
func (r *running) finishExit() {
	c := r.cells.h.core
	exit := r.cells.h.proc.exit()
	c.mu.Lock()
	if r.turn.take != nil && !r.turn.over {
		cur := c.term.Cursor()
		r.turn.take.Finish(c.term, c.term.ScreenLine()+int64(cur.Row), r.beforePrompt(cell.PromptAt(c.term), cur.Col))
	}
	c.mu.Unlock()
	code := exit.Code
	r.finish(cell.Result{Status: cell.Done, By: cell.ByExit, ExitCode: &code})
}

// outputSoFar is what the cell printed up to now, without disturbing it.
func (r *running) outputSoFar() string {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.turn.take == nil || r.turn.over {
		return r.turn.sink.SoFar("")
	}
	if c.term.Modes().AltScreen { // all of it is the program's
		return r.turn.sink.SoFar(strings.TrimRight(screen.Text(c.term), "\n "))
	}
	cur := c.term.Cursor()
	rest := r.turn.take.Peek(c.term, c.term.ScreenLine()+int64(cur.Row), cur.Col)
	return r.turn.sink.SoFar(rest)
}
