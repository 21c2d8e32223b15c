package session

import (
	"context"
	"regexp"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// KnownAnswer is an answer to questions that match.
type KnownAnswer struct {
	Name    string // by which the result tells that it was given
	Pattern *regexp.Regexp
	Text    string
	// Secret says that it is given only to the line in which the program asks, not
	// to a menu that speaks of it, where the terminal does not show it, and not
	// again at once: it was wrong then.
	Secret bool
}

// maxGiven bounds the known answers that are given to one cell: a program may ask
// the same again and again.
const maxGiven = 100

// giveKnown answers the questions of a cell to which the answers are known, and
// waits on.
func (s *Session) giveKnown(ctx context.Context, r cell.Result, run Run, begun time.Time) (cell.Result, error) {
	var given []cell.Given
	for len(given) < maxGiven {
		known := knownFor(r, run.Known, given)
		if known == nil {
			break
		}
		rest := run
		rest.Known, rest.Question, rest.Timeout, rest.hidden = nil, r.Question, remaining(run.Timeout, begun), known.Secret
		next, err := s.Answer(ctx, wire.Input{Text: &known.Text, Enter: true}, rest)
		switch fault.KindOf(err) {
		case fault.Busy, fault.NotFound: // somebody else has answered
			rest.Question = ""
			if next, err = s.Await(ctx, r.CellID, rest); err == nil && next.Question == r.Question {
				r = next // it cannot be answered
				r.Answered = given
				return r, nil
			}
		case fault.Denied: // the terminal would show it
			r.Answered = given
			return r, nil
		default:
			given = append(given, cell.Given{Question: r.Question, Pattern: known.Name})
		}
		if err != nil {
			return r, err
		}
		r = next
	}
	r.Answered = given
	return r, nil
}

// knownFor returns the first answer that the question matches, or nil.
func knownFor(r cell.Result, all []KnownAnswer, given []cell.Given) *KnownAnswer {
	if r.Final() || r.WaitingFor != cell.ForInput || r.Certainty == cell.Guess {
		return nil
	}
	line := r.Question[strings.LastIndexByte(r.Question, '\n')+1:]
	if n := len(given); n > 0 && line != given[n-1].Question { // an older host has both on a line
		line = strings.TrimPrefix(line, given[n-1].Question)
	}
	for i, known := range all {
		again := len(given) > 0 && given[len(given)-1] == cell.Given{Question: r.Question, Pattern: known.Name}
		switch {
		case known.Secret && again:
		case known.Pattern.MatchString(line), !known.Secret && strings.Contains(r.Question, "\n") && known.Pattern.MatchString(r.Question):
			return &all[i]
		}
	}
	return nil
}
