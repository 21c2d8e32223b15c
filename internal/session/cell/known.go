package cell

import (
	"regexp"
	"strings"
)

// Known is an answer to questions that match.
type Known struct {
	Name    string         `json:"name"` // by which the result tells that it was given
	Pattern *regexp.Regexp `json:"pattern"`
	Text    string         `json:"text"`
	// Secret says that it is given only to the line in which the program asks, not
	// to a menu that speaks of it, where the terminal does not show it, and not
	// again at once: it was wrong then.
	Secret bool `json:"secret,omitempty"`
}

// maxGiven bounds the known answers that are given to one cell: a program may ask
// the same again and again.
const maxGiven = 100

// KnownFor returns the first answer that the cell's question matches, or nil. given
// are those that it had before.
func KnownFor(r Result, all []Known, given []Given) *Known {
	if r.Final() || r.WaitingFor != ForInput || r.Certainty == Guess || len(given) >= maxGiven {
		return nil
	}
	line := r.Question[strings.LastIndexByte(r.Question, '\n')+1:]
	if n := len(given); n > 0 && line != given[n-1].Question { // an older host has both on a line
		line = strings.TrimPrefix(line, given[n-1].Question)
	}
	for i, known := range all {
		again := len(given) > 0 && given[len(given)-1] == Given{Question: r.Question, Pattern: known.Name}
		switch {
		case known.Secret && again:
		case known.Pattern.MatchString(line), !known.Secret && strings.Contains(r.Question, "\n") && known.Pattern.MatchString(r.Question):
			return &all[i]
		}
	}
	return nil
}
