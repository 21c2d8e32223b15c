package tui

import (
	"context"
	"errors"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
)

// maxScrubs is how many moves through time wait at most: a key that repeats
// faster than a log can be read is dropped.
const maxScrubs = 64

// scrub is one move through a session's past.
type scrub struct {
	visit int // moves of one visit to the past go on from each other
	dir   home.Dir
	from  eventlog.Position // where the visit began

	step int           // -1, 1: to the moment before or behind; else
	seq  uint64        // to this event, or, if byTime,
	time time.Duration // to this time
	kind scrubKind
}

type scrubKind int

const (
	byStep scrubKind = iota
	bySeq
	byTime
)

type scrubs struct{ c chan scrub }

func newScrubs() scrubs { return scrubs{make(chan scrub, maxScrubs)} }

// add is for the loop: it never waits.
func (s scrubs) add(m scrub) {
	select {
	case s.c <- m:
	default:
	}
}

// scrub goes where the moves say, and sends the screen there: one for all
// moves that wait.
func (p *pump) scrub(ctx context.Context, send func(tea.Msg)) {
	visit, at := -1, eventlog.Position{}
	for {
		var m scrub
		select {
		case <-ctx.Done():
			return
		case m = <-p.past.c:
		}
		var answer pastMsg
		for more := true; more; {
			if m.visit != visit {
				visit, at, answer = m.visit, m.from, pastMsg{}
			}
			before := at
			p.move(ctx, m, &at, &answer)
			answer.moved = at != before
			select {
			case m = <-p.past.c:
			default:
				more = false
			}
		}
		if answer.frame == nil && answer.err == nil {
			answer.frame, answer.err = p.model.AtSeq(ctx, dashboard.Of(m.dir), at.Seq)
		}
		if errors.Is(answer.err, context.Canceled) {
			return
		}
		answer.visit = visit
		send(answer)
	}
}

// move makes one move, and leaves the screen to be made if more may come. On
// an error the position stays.
func (p *pump) move(ctx context.Context, m scrub, at *eventlog.Position, answer *pastMsg) {
	answer.frame, answer.err = nil, nil
	switch m.kind {
	case byStep:
		var to eventlog.Position
		if to, answer.err = p.model.Step(ctx, dashboard.Of(m.dir), *at, m.step); answer.err == nil {
			*at = to
		}
		return
	case byTime:
		answer.frame, answer.err = p.model.AtTime(ctx, dashboard.Of(m.dir), m.time)
	default:
		answer.frame, answer.err = p.model.AtSeq(ctx, dashboard.Of(m.dir), m.seq)
	}
	if answer.err == nil {
		*at = eventlog.Position{Seq: answer.frame.Seq, Elapsed: answer.frame.Elapsed}
		if m.kind == byTime {
			at.Elapsed = m.time // so that steps in time add up where nothing happens
		}
	}
}
