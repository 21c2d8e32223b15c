package film

import (
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/render"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// chapter is a mark at its time in the film.
type chapter struct {
	at    time.Duration
	label string
}

// survey holds what must be known before the first picture is drawn.
type survey struct {
	cols, rows int // the largest of the film
	end        time.Duration
	chapters   []chapter
}

// survey reads the whole film and determines where it ends.
func (m *maker) survey() (*survey, error) {
	s := &survey{}
	until := uint64(0)
	cols, rows := 0, 0 // the size at the film's beginning counts, earlier ones do not
	for t, err := range m.takes() {
		if err != nil {
			return nil, err
		}
		until = t.Seq
		if c, r, ok := t.Size(); ok {
			cols, rows = min(c, vt.MaxCols), min(r, vt.MaxRows)
		}
		if t.Before {
			continue
		}
		s.cols, s.rows = max(s.cols, cols), max(s.rows, rows)
		if t.Code == eventlog.Mark {
			s.chapters = append(s.chapters, chapter{t.At, m.hide.Text(string(t.Data))})
		}
	}
	s.cols, s.rows = max(s.cols, cols, 1), max(s.rows, rows, 1)
	s.end, m.until = m.result.Duration, max(until, 1)
	return s, nil
}

// syncPatience bounds how long a synchronised update may hide the screen.
const syncPatience = 200 * time.Millisecond

// shots calls shoot for each picture of the film, with its time. A picture
// shows what stood there at the end of its frame.
func (m *maker) shots(s *survey, theme *render.Theme, shoot func(at time.Duration, g *render.Grid) error) error {
	var term *vt.Terminal
	grid := &render.Grid{}
	context := 0
	if m.hide != nil {
		context = redact.Context
	}
	var slot int64
	dirty := true
	draw := func() error {
		dirty = false
		grid.Take(term, theme)
		grid.Redact(term, m.hide)
		at := time.Duration(slot) * frameTime
		m.progress(at, s.end)
		return shoot(at, grid)
	}
	for t, err := range m.takes() {
		if err != nil {
			return err
		}
		if next := int64(t.At / frameTime); next > slot {
			drawing := term.Modes().Sync && time.Duration(next-slot)*frameTime < syncPatience
			if dirty && !drawing {
				if err := draw(); err != nil {
					return err
				}
			}
			slot = next
		}
		if cols, rows, ok := t.Size(); ok && t.Repaint {
			term = vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: context})
			dirty = true
			continue
		}
		was := term.Generation()
		replay.Apply(term, t.Event)
		dirty = dirty || term.Generation() != was
	}
	if term == nil {
		return errEmpty()
	}
	return draw()
}
