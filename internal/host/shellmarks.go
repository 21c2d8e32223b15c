package host

import (
	"den/internal/cell"
	"den/internal/vt"
)

// shellMarks follows the prompt marks (OSC 133) of a shell that den started
// with its own start file. Marks without the session's token were printed by
// somebody else and mean nothing.
type shellMarks struct {
	token  string
	silent bool    // it does not tell where output begins (sh)
	last   byte    // kind of the last mark, 0 before the first
	ends   int     // commands that ended
	start  vt.Mark // where the last command's output began (C)
	end    vt.Mark // where it ended (D)
	exit   int
	began  bool // there was a C since the last D
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
	s.last = m.Kind
	switch m.Kind {
	case 'C':
		if !s.began { // of several commands on one line the first counts
			s.start, s.began = m, true
		}
	case 'D':
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
