package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
)

// enter begins a visit to the past, if there is one.
func (u *ui) enter() bool {
	if u.session == nil || u.live == nil {
		return false
	}
	if u.past == nil {
		u.count++
		u.past = &visit{number: u.count, at: u.end()}
	}
	return true
}

func (u *ui) goLive() { u.past, u.problem = nil, "" }

// send makes a move of this visit.
func (u *ui) send(m scrub) {
	m.visit, m.dir, m.from = u.past.number, u.session.Dir, u.past.at
	u.pump.past.add(m)
}

// step goes one moment on or back. Live, there is nothing to go on to.
func (u *ui) step(direction int) {
	if direction > 0 && u.past == nil || !u.enter() {
		return
	}
	u.past.ahead, u.past.timed = direction > 0, false
	u.send(scrub{kind: byStep, step: direction})
}

// skip goes as far as one column of the timeline is wide, but not less than a
// tenth of a second.
func (u *ui) skip(direction int) {
	if direction > 0 && u.past == nil || !u.enter() {
		return
	}
	end := u.end().Elapsed
	by := max(end/time.Duration(max(1, u.trackWidth())), 100*time.Millisecond)
	to := u.past.at.Elapsed + time.Duration(direction)*by
	if to >= end && direction > 0 {
		u.goLive()
		return
	}
	u.toTime(to)
}

func (u *ui) toTime(to time.Duration) {
	to = max(to, u.begin().Elapsed)
	u.past.at.Elapsed, u.past.ahead, u.past.timed = to, false, true
	u.send(scrub{kind: byTime, time: to})
}

func (u *ui) toBeginning() {
	if u.enter() {
		u.toTime(u.begin().Elapsed)
	}
}

// begin is the first moment that the log holds.
func (u *ui) begin() eventlog.Position {
	if u.line == nil {
		return eventlog.Position{}
	}
	return u.line.First
}

// jump goes to the next or the last place worth seeing: where a cell began or
// ended, and marks.
func (u *ui) jump(direction int) {
	live := u.past == nil
	if direction > 0 && live || u.line == nil || !u.enter() {
		return
	}
	places := u.places()
	i, found := slices.BinarySearchFunc(places, u.past.at.Seq, func(p eventlog.Position, seq uint64) int {
		return int(int64(p.Seq) - int64(seq))
	})
	switch {
	case direction < 0:
		if i--; live && i >= 0 && places[i].Seq >= u.line.Last.Seq {
			i-- // that is what is shown
		}
	case found:
		i++
	}
	switch {
	case i < 0:
		u.toBeginning()
	case i >= len(places):
		u.goLive()
	default:
		u.past.at, u.past.ahead, u.past.timed = places[i], false, false
		u.send(scrub{kind: bySeq, seq: places[i].Seq})
	}
}

func (u *ui) places() []eventlog.Position {
	var all []eventlog.Position
	for _, m := range u.line.Marks {
		all = append(all, m.Position)
	}
	for _, c := range u.line.Cells {
		all = append(all, c.Start)
		if c.End.Seq > 0 {
			all = append(all, c.End)
		}
	}
	slices.SortFunc(all, func(a, b eventlog.Position) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return slices.CompactFunc(all, func(a, b eventlog.Position) bool { return a.Seq == b.Seq })
}

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
