package vt

// maxBelow bounds the rows kept under the main screen; those further down are lost.
const maxBelow = MaxRows

// dropBelow forgets the rows that a resize pushed under the main screen, because
// what they followed has moved or is gone.
func (t *Terminal) dropBelow() {
	if t.below == nil || t.altActive() {
		return
	}
	t.below = nil
	t.main.rows[t.rows-1].endChanged()
}

// keepBelow takes the rows that no longer fit under the screen.
func (t *Terminal) keepBelow(rows []*line) {
	t.below = nil
	if len(rows) > maxBelow {
		rows = rows[:maxBelow]
	}
	if len(rows) == 0 {
		t.main.rows[len(t.main.rows)-1].endChanged()
		return
	}
	t.below = append(t.below, rows...)
	t.below[len(rows)-1].endChanged()
}

// belowRows writes the rows under the main screen. They are drawn on the
// alternate screen, where nobody sees them, and taken from there.
func (d *dumper) belowRows() {
	t := d.t
	before := t.main.rows[t.rows-1]
	for rest := t.below; len(rest) > 0; {
		rows := rest[:min(len(rest), t.rows)]
		rest = rest[len(rows):]
		d.setPen(pen{})
		d.add("\x1b[?47h\x1b[H")
		d.lines(len(rows), func(i int) *line { return rows[i] })
		d.setPen(pen{})
		d.addf("\x1b_den;below;%d;%d\x1b\\\x1b[2J\x1b[?47l", len(rows), before.runsOn())
		before = rows[len(rows)-1]
	}
}

// How a row runs on into the next, as dumps say it.
const (
	runsOnNot = 0
	runsOn    = 1
	runsOnPad = 2 // with a blank at its end, because a wide character did not fit
)

func (l *line) runsOn() int {
	switch {
	case !l.wrapped:
		return runsOnNot
	case l.cells()[l.cols()-1]&cellPad != 0:
		return runsOnPad
	}
	return runsOn
}

// privateBelow takes the first rows of the alternate screen as the next rows
// under the main screen.
func (t *Terminal) privateBelow(args [][]byte) {
	n, ok1 := number(args, 0, 10)
	how, ok2 := number(args, 1, 10)
	if !ok1 || !ok2 || !t.altActive() || n == 0 || n > uint64(t.rows) || len(t.below)+int(n) > maxBelow || how > runsOnPad {
		return
	}
	before := t.main.rows[t.rows-1]
	if len(t.below) > 0 {
		before = t.below[len(t.below)-1]
	}
	if how == runsOnPad && before.cells()[t.cols-1] == 0 && before.size == SingleSize {
		before.edit()[t.cols-1] = cellPad
		before.wrapped = true
	} else if how == runsOn {
		before.join()
	}
	rows := t.alt.rows[:n]
	t.below = append(t.below, rows...)
	t.below[len(t.below)-1].endChanged()
	copy(rows, newLines(int(n), t.cols))
	t.forgetLast() // it may have stood there
}
