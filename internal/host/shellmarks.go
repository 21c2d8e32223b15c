package host

import (
	"strings"

	"den/internal/cell"
	"den/internal/vt"
)

// shellMarks follows the prompt marks (OSC 133) of a shell that den started
// with its own start file. Marks without the session's token were printed by
// somebody else and mean nothing.
type shellMarks struct {
	token   string
	silent  bool    // it does not tell where output begins (sh)
	last    byte    // kind of the last mark, 0 before the first
	ends    int     // commands that ended
	start   vt.Mark // where the last command's output began (C)
	end     vt.Mark // where it ended (D)
	exit    int
	began   bool   // there was a C since the last D
	prompt  int64  // the line of the last prompt (A)
	shown   string // what stood left of the cursor when it was there (B)
	refused bool   // the last command ended without having begun
}

// take notes one mark and reports whether it was the shell's.
func (s *shellMarks) take(m vt.Mark) bool {
	if s.token == "" {
		return false
	}
	status, own := cell.OwnMark(m, s.token)
	if !own {
		return false
	}
	if m.Kind == 'D' && s.redraws(m) {
		return false
	}
	s.last = m.Kind
	switch m.Kind {
	case 'A':
		s.prompt = m.Line
	case 'C':
		if !s.began { // of several commands on one line the first counts
			s.start, s.began = m, true
		}
	case 'D':
		s.refused = !s.began
		s.ends++
		s.end = m
		if !s.began {
			s.start = m
		}
		s.began = false
		s.exit = status
	}
	return true
}

// redraws reports whether a D belongs to a prompt that the shell's editor draws
// again. bash has D in the prompt itself where it ran no PROMPT_COMMAND, as
// after a history expansion that found nothing. A command that was entered
// left the prompt's line, but for one that cleared the screen: that has begun,
// which a silent shell does not tell.
func (s *shellMarks) redraws(m vt.Mark) bool {
	atPrompt := s.last == 'B' || s.last == 'P' || s.last == inputPending
	return !s.silent && atPrompt && !s.began && m.Line <= s.prompt
}

// leftover reports whether something stands behind the shell's prompt that was
// not entered: text that somebody typed, an answer of the terminal that nobody
// read, or code that fish keeps in its editor because of its syntax.
func (s *shellMarks) leftover(left string) bool {
	return (s.last == 'B' || s.last == inputPending) && s.shown != "" && left != s.shown && strings.HasPrefix(left, s.shown)
}

// inputPending is what last becomes when something was typed at a prompt: what
// the shell does next is not known until it tells.
const inputPending = 'I'

// typed notes that the shell got input.
func (s *shellMarks) typed() {
	if s.last == 'B' || s.last == 'P' {
		s.last = inputPending
	}
}

// atPrompt reports whether the shell shows its prompt and waits for a command.
func (s *shellMarks) atPrompt() bool { return s.last == 'B' }

// forgetShell gives up on marks: cells end in the other ways from now on, the
// first of which needs the prompt.
func (cs *cells) forgetShell(p prompt) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.learned = p
	c := cs.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shell = shellMarks{}
}
