package host

import (
	"time"

	"den/internal/cell"
	"den/internal/pty"
)

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
