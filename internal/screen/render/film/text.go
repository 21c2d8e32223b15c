package film

import (
	"bufio"

	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// text writes the lines that scrolled off the main screen, as they were when
// they did, and then the last screen. Rows that the terminal wrapped are one
// line again.
func (m *maker) text() error {
	out := bufio.NewWriterSize(m.out, 64<<10)
	write := func(line []byte) error {
		_, err := out.Write(line)
		return err
	}
	lines := redact.NewLines(m.hide, write)
	t := &transcript{put: write}
	if m.hide != nil {
		t.put = lines.Add
	}
	for tk, err := range m.takes() {
		if err != nil {
			return err
		}
		if err := t.take(tk); err != nil {
			return writeError("transcript", err)
		}
	}
	err := t.last()
	if err == nil {
		err = lines.Close()
	}
	if err == nil {
		err = out.Flush()
	}
	return writeError("transcript", err)
}

// transcript collects the lines of a terminal as they become final.
type transcript struct {
	put  func(line []byte) error
	term *vt.Terminal
	next int64  // the first row that was not taken, counted from the start
	line []byte // rows of a line that is not yet whole
}

func (t *transcript) take(tk take) error {
	cols, rows, resized := tk.Size()
	switch {
	case resized && tk.Repaint:
		fresh := t.term == nil
		if !fresh { // events are missing: what is repainted was seen, as far as it can be known
			if err := t.last(); err != nil {
				return err
			}
		}
		t.term = vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: scrollbackOfFrame})
		t.next = 0
	case resized:
		t.term.ResizeFollowing(cols, rows, &t.next)
	default:
		replay.Apply(t.term, tk.Event)
	}
	if tk.Before {
		t.next = t.term.ScreenLine()
		return nil
	}
	return t.scrolledOff()
}

func (t *transcript) scrolledOff() error {
	if t.term.Modes().AltScreen {
		return nil
	}
	screen := t.term.ScreenLine()
	for t.next = max(t.next, t.term.FirstLine()); t.next < screen; t.next++ {
		if err := t.row(t.term.Row(int(t.next - screen))); err != nil {
			return err
		}
	}
	return nil
}

func (t *transcript) row(row vt.Row) error {
	if row.Wrapped() {
		t.wrapped(row)
		return nil
	}
	t.line = row.AppendText(t.line)
	t.line = append(t.line, '\n')
	err := t.put(t.line)
	t.line = t.line[:0]
	return err
}

// wrapped adds a whole row with its trailing spaces, because the line
// continues. An empty last cell is where a wide character did not fit.
func (t *transcript) wrapped(row vt.Row) {
	for col := range row.Len() {
		was := len(t.line)
		t.line = row.AppendCell(t.line, col)
		if len(t.line) == was && row.Width(col) > 0 && col < row.Len()-1 {
			t.line = append(t.line, ' ')
		}
	}
}

// last writes the screen, without the empty rows at its end.
func (t *transcript) last() error {
	if t.term == nil {
		return nil
	}
	_, rows := t.term.Size()
	for rows > 0 && len(t.term.Row(rows-1).AppendText(nil)) == 0 {
		rows--
	}
	for y := range rows {
		if err := t.row(t.term.Row(y)); err != nil {
			return err
		}
	}
	if len(t.line) > 0 {
		t.line = append(t.line, '\n')
		err := t.put(t.line)
		t.line = t.line[:0]
		return err
	}
	return nil
}
