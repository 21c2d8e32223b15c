package session

import (
	"context"
	"time"

	"den/internal/base/fault"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// giveKnown answers the questions of a cell to which the answers are known, and
// waits on.
func (s *Session) giveKnown(ctx context.Context, r cell.Result, run Run, begun time.Time) (cell.Result, error) {
	var given []cell.Given
	for {
		known := cell.KnownFor(r, run.Known, given)
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
				r.Answered = append(r.Answered, given...)
				return r, nil
			}
		case fault.Denied: // the terminal would show it
			r.Answered = append(r.Answered, given...)
			return r, nil
		default:
			given = append(given, cell.Given{Question: r.Question, Pattern: known.Name})
		}
		if err != nil {
			return r, err
		}
		r = next
	}
	r.Answered = append(r.Answered, given...)
	return r, nil
}
