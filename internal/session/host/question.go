package host

import (
	"cmp"
	"strings"

	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// question returns what the program asks: the text left of the cursor, or the
// menu that it ends. The caller holds cells.mu.
func (r *running) question(o cell.Observed) string {
	left := r.sinceAnswer(o)
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.term.ScreenLine()+int64(c.term.Cursor().Row) != o.Line { // the next look tells
		return left
	}
	if o.AltScreen {
		_, rows := c.term.Size()
		var lines []cell.ShownLine
		for i := range rows {
			lines = append(lines, shownLine(c.term.Row(i)))
		}
		return cell.ScreenQuestion(lines, c.term.Cursor().Row, left, o.CursorHidden)
	}
	lines, at := c.linesAround(max(r.pass.Line+1, c.shell.Start.Line, r.askedBefore(o.Line)))
	return cell.Question(lines, at, left, o.CursorHidden)
}

// sinceAnswer is the text left of the cursor without the question before, if that
// was answered and no line ended since: what was typed was not echoed.
func (r *running) sinceAnswer(o cell.Observed) string {
	left := strings.TrimSpace(o.Left.Text)
	if before := r.life.AskedLeft; before != "" && r.life.AskedAt == o.Line && r.life.Asked != o.Inputs {
		if rest, ok := strings.CutPrefix(left, before); ok && rest != "" {
			return strings.TrimSpace(rest)
		}
	}
	return left
}

// askedBefore is the line below the last question, if that stands above.
func (r *running) askedBefore(line int64) int64 {
	if r.life.AskedAt < line {
		return r.life.AskedAt + 1
	}
	return 0
}

// linesAround returns the lines around the cursor, none above first, and which of
// them is the cursor's.
func (c *core) linesAround(first int64) (lines []cell.ShownLine, at int) {
	cur := c.term.Cursor().Row
	from := cur
	for from > 0 && cur-from < cell.MaxQuestion && c.term.ScreenLine()+int64(from-1) >= first {
		from--
	}
	_, rows := c.term.Size()
	for i := from; i < min(rows, cur+cell.MaxQuestion); i++ {
		lines = append(lines, shownLine(c.term.Row(i)))
	}
	return lines, cur - from
}

func shownLine(row vt.Row) (l cell.ShownLine) {
	l.Text = string(row.AppendText(nil))
	for col := range row.Len() {
		if row.StyleID(col) == 0 {
			continue
		}
		if one := row.Cell(col); one.Style.Attrs&vt.Inverse != 0 && strings.TrimSpace(one.Text) != "" {
			l.Marked = true
			break
		}
	}
	return l
}

// askedLeft is what stood left of the cursor when the program asked, or the
// question, if nothing did: it may stand above. A host of an earlier build has only
// the question.
func (r *running) askedLeft(question string) (left string, above bool) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	return cmp.Or(r.life.AskedLeft, question), r.life.AskedLeft == ""
}

// asksOtherLocked reports whether the screen shows another question than this,
// which stands left of the cursor, or perhaps above it.
func (c *core) asksOtherLocked(question string, above bool) bool {
	shown := cell.PromptAt(c.term)
	if c.term.Modes().AltScreen || sameQuestion(question, shown) {
		return false
	}
	if !above || strings.TrimSpace(shown) != "" {
		return true
	}
	lines, _ := c.linesAround(0)
	return !cell.ShowsQuestion(lines, question)
}
