package replay

import (
	"bytes"

	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
)

// Lines turns events into finished lines: those above the cursor on the main
// screen, without control sequences and without what was overwritten.
type Lines struct {
	term *vt.Terminal
	next int64 // the first line that was not printed, counted from the start
	text bool  // one of the printed lines was not empty
	emit func(string) error
}

// NewLines emits what comes after the lines that the terminal shows now. The
// terminal belongs to it from here on.
func NewLines(term *vt.Terminal, emit func(line string) error) *Lines {
	l := &Lines{term: term, emit: emit}
	l.next = l.cursorLine()
	return l
}

// cursorLine is the line that the cursor is in, counted from the start.
func (l *Lines) cursorLine() int64 { return l.term.ScreenLine() + int64(l.term.Cursor().Row) }

// Apply takes one event, and emits the lines that it finished.
func (l *Lines) Apply(ev eventlog.Event) error {
	if cols, rows, ok := ev.Size(); ok {
		l.term.Resize(cols, rows)
		return nil
	}
	out, ok := ev.Output()
	if !ok {
		return nil
	}
	// In parts, so that no more scrolls off at once than the emulator keeps.
	for len(out) > 0 {
		n := untilErase(out[:min(len(out), Scrollback/2)])
		l.term.Write(out[:n]) // never fails
		out = out[n:]
		if err := l.print(l.cursorLine()); err != nil {
			return err
		}
	}
	return nil
}

// untilErase ends a part behind a sequence that erases: what it leaves of the
// screen must be seen before more is written.
func untilErase(out []byte) int {
	for i := range out {
		if out[i] == 'J' && i >= 2 && bytes.LastIndexByte(out[max(0, i-4):i], 0x1b) >= 0 {
			return i + 1
		}
	}
	return len(out)
}

// print emits the lines before the given one.
func (l *Lines) print(until int64) error {
	if l.term.Modes().AltScreen {
		return nil
	}
	l.next = max(l.next, l.term.FirstLine())
	if l.text && l.next > l.term.ScreenLine() && l.cleared() {
		l.next, l.text = l.term.ScreenLine(), false // a fresh screen: its lines are new ones
	}
	var line []byte
	for l.next < until {
		// A line that the terminal wrapped is printed whole, once its end is there.
		line = line[:0]
		at := l.next
		for {
			row := l.term.Row(int(at - l.term.ScreenLine()))
			line = row.AppendText(line)
			at++
			if !row.Wrapped() || at >= until {
				break
			}
		}
		l.next = at
		l.text = l.text || len(line) > 0
		if err := l.emit(string(line)); err != nil {
			return err
		}
	}
	return nil
}

// cleared reports whether the lines that were printed are gone from the screen.
func (l *Lines) cleared() bool {
	top := l.term.ScreenLine()
	_, rows := l.term.Size()
	for at := top; at < min(l.next, top+int64(rows)); at++ {
		if len(l.term.Row(int(at-top)).AppendText(nil)) > 0 {
			return false
		}
	}
	return true
}

// Finish emits what the session ended with.
func (l *Lines) Finish() error {
	until := l.cursorLine()
	if l.term.Cursor().Col > 0 {
		until++
	}
	return l.print(until)
}
