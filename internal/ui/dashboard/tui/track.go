package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"den/internal/session/cell"
	"den/internal/ui/dashboard"

	"charm.land/lipgloss/v2"
)

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
