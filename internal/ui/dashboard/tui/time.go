package tui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
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
	select {
	case u.pump.past <- m:
	default: // the loop never waits
	}
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

// scrub goes where the moves say, and sends the screen there: one for all
// moves that wait.
func (p *pump) scrub(ctx context.Context, send func(tea.Msg)) {
	visit, at := -1, eventlog.Position{}
	for {
		var m scrub
		select {
		case <-ctx.Done():
			return
		case m = <-p.past:
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
			case m = <-p.past:
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

// labelWidth is what a time beside the track takes.
const labelWidth = 11

// trackWidth is how many columns stand for the session's time.
func (u *ui) trackWidth() int { return max(1, u.width-2*labelWidth) }

// position is the time that is shown.
func (u *ui) position() time.Duration {
	if u.past != nil {
		return u.past.at.Elapsed
	}
	return u.end().Elapsed
}

// column is where a time is on the track.
func column(t, end time.Duration, width int) int {
	if end <= 0 {
		return width - 1
	}
	return max(0, min(width-1, int(float64(t)/float64(end)*float64(width-1)+0.5)))
}

var bars = []rune(" ▁▂▃▄▅▆▇█")

// drawActivity is how much was printed when, as bars above the track. Amounts
// differ by powers of ten, so their logarithms are shown.
func (u *ui) drawActivity() string {
	width := u.trackWidth()
	if u.line == nil {
		return strings.Repeat(" ", u.width)
	}
	amounts := u.line.Activity.Columns(u.end().Elapsed, width)
	most := 1.0
	for _, n := range amounts {
		most = max(most, math.Log1p(float64(n)))
	}
	var b strings.Builder
	for _, n := range amounts {
		b.WriteRune(bars[int(math.Ceil(math.Log1p(float64(n))/most*float64(len(bars)-1)))])
	}
	return fit(strings.Repeat(" ", labelWidth)+faint.Render(b.String()), u.width)
}

// trackSign is one column of the track: a character and its style.
type trackSign struct {
	text  string
	style *lipgloss.Style
}

// drawTrack is the session's time from its start to now: cells in the colour
// of how they ended, marks, and where the view is.
func (u *ui) drawTrack() string {
	width, end := u.trackWidth(), u.end().Elapsed
	signs := make([]trackSign, width)
	for x := range signs {
		signs[x] = trackSign{"─", &faint}
	}
	if u.line != nil {
		u.drawSpans(signs, end)
	}
	here, label := &present, "live"
	if u.past != nil {
		here, label = &inPast, clock(u.position())
	} else if u.ended {
		label = "end"
	}
	signs[column(u.position(), end, width)] = trackSign{"┃", here}
	return fit(fmt.Sprintf("%*s %s %s", labelWidth-1, label, render(signs), clock(end)), u.width)
}

// render styles neighbours of one style together.
func render(signs []trackSign) string {
	var b strings.Builder
	for from := 0; from < len(signs); {
		text, to := "", from
		for ; to < len(signs) && signs[to].style == signs[from].style; to++ {
			text += signs[to].text
		}
		b.WriteString(signs[from].style.Render(text))
		from = to
	}
	return b.String()
}

func (u *ui) drawSpans(signs []trackSign, end time.Duration) {
	if first := u.line.First.Elapsed; first > 0 {
		for x := range column(first, end, len(signs)) {
			signs[x].text = " " // dropped under the log's limit
		}
	}
	for i := range u.line.Cells {
		c := &u.line.Cells[i]
		from, to := column(c.Start.Elapsed, end, len(signs)), column(c.Start.Elapsed+c.Took, end, len(signs))
		for x := from; x <= to; x++ {
			signs[x] = trackSign{"━", cellStyle(c)}
		}
	}
	for _, m := range u.line.Marks {
		signs[column(m.Elapsed, end, len(signs))] = trackSign{"◆", &odd}
	}
}

func cellStyle(c *dashboard.CellSpan) *lipgloss.Style {
	switch {
	case c.End.Seq == 0:
		return &warn
	case c.Status == cell.Failed, c.ExitCode != nil && *c.ExitCode != 0:
		return &bad
	}
	return &good
}

// moment says in words what was going on at the time that is shown: the cell
// that ran then, or the last one before, or a mark.
func (u *ui) moment() string {
	if u.line == nil {
		return ""
	}
	seq := u.end().Seq
	if u.past != nil {
		seq = u.past.at.Seq
	}
	for _, m := range u.line.Marks {
		if m.Seq == seq {
			return odd.Render("◆ ") + plain(m.Label)
		}
	}
	var last *dashboard.CellSpan
	for i := range u.line.Cells {
		if u.line.Cells[i].Start.Seq <= seq {
			last = &u.line.Cells[i]
		}
	}
	if last == nil {
		return ""
	}
	return cellStyle(last).Render("━ ") + plain(last.Code) + faint.Render(" · "+outcome(last, seq))
}

// outcome is how a cell stood at an event.
func outcome(c *dashboard.CellSpan, seq uint64) string {
	switch {
	case c.End.Seq > 0 && seq < c.End.Seq:
		return "runs"
	case c.End.Seq == 0 && c.WaitingFor != "":
		return "waits for " + c.WaitingFor
	case c.End.Seq == 0:
		return string(c.Status)
	case c.ExitCode != nil:
		return fmt.Sprintf("exit %d, %s", *c.ExitCode, c.Took.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s, %s", c.Status, c.Took.Round(time.Millisecond))
}
