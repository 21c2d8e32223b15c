package host

import (
	"strings"

	"den/internal/cell"
	"den/internal/pty"
)

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
