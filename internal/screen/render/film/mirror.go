package film

import (
	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// reset puts a player into its power-on state, with nothing above its screen.
const reset = "\x1bc\x1b[3J"

// mirroredCast writes a cast of redacted screens. A program repaints parts of
// lines, so a secret need not be whole in its output. On the screen it is: the
// screens are redacted, and the cast has the differences between them. Nothing
// of the program's own output is in it.
func (m *maker) mirroredCast() error {
	h, err := m.log.Header()
	if err != nil {
		return err
	}
	s := &mirroring{c: m.newCaster(), hide: m.hide, links: map[[2]string]bool{}}
	for t, err := range m.takes() {
		if err != nil {
			return err
		}
		if !t.Before && !s.c.begun {
			if err := s.begin(h, t); err != nil {
				return writeError("cast", err)
			}
		}
		if err := s.take(t); err != nil {
			return writeError("cast", err)
		}
	}
	if !s.c.begun {
		return errEmpty()
	}
	if err := s.frame(); err != nil {
		return writeError("cast", err)
	}
	return writeError("cast", s.c.finish())
}

// mirroring is a redacted cast that is being made.
type mirroring struct {
	c      *caster
	hide   *redact.Redactor
	term   *vt.Terminal
	mirror *vt.Mirror
	page   redact.Page
	pace   pace
	top    int64 // the screen's first row in the last frame
	out    []byte
	links  map[[2]string]bool // whether a link is to be hidden
}

// begin writes the header. The first frame has what stood there before.
func (s *mirroring) begin(h eventlog.Header, t take) error {
	if s.term == nil {
		return s.c.begin(h, h.Cols, h.Rows) // the first event has the same
	}
	cols, rows := s.term.Size()
	s.mirror = vt.NewMirror(config(cols, rows))
	s.pace.changed(t.At)
	return s.c.begin(h, cols, rows)
}

func config(cols, rows int) vt.Config {
	return vt.Config{Cols: cols, Rows: rows, Scrollback: scrollbackOfFrame}
}

func (s *mirroring) take(t take) error {
	if s.c.begun && s.pace.due(t.At, s.term) {
		if err := s.frame(); err != nil {
			return err
		}
	}
	if _, ok := t.Output(); ok {
		replay.Apply(s.term, t.Event)
		if s.c.begun {
			s.pace.changed(t.At)
		}
		return nil
	}
	if err := s.frame(); err != nil {
		return err
	}
	if cols, rows, ok := t.Size(); ok {
		return s.resize(t, cols, rows)
	}
	if !s.c.begun {
		return nil
	}
	return s.c.other(t)
}

// resize follows a new size, or begins anew behind something that is missing.
func (s *mirroring) resize(t take, cols, rows int) error {
	first := s.term == nil
	if t.Repaint {
		s.term, s.top = vt.New(config(cols, rows)), 0
	} else {
		replay.Apply(s.term, t.Event)
		s.top = s.term.ScreenLine()
	}
	if !s.c.begun {
		return nil
	}
	s.pace.changed(t.At)
	if !t.Repaint {
		s.mirror.Resize(s.term)
		return s.c.other(t)
	}
	s.mirror = vt.NewMirror(config(cols, rows))
	if first {
		return nil // the header has the size
	}
	if err := s.c.other(t); err != nil {
		return err
	}
	return s.c.write(castEvent{at: t.At, code: eventlog.Output}, []byte(reset))
}

// frame writes what changed on the redacted screen.
func (s *mirroring) frame() error {
	if !s.c.begun || !s.pace.dirty {
		return nil
	}
	s.pace.dirty = false
	if out := s.screen(); len(out) > 0 {
		return s.c.write(castEvent{at: s.pace.last, code: eventlog.Output}, out)
	}
	return nil
}

// screen returns what makes a player show the redacted screen. It is valid
// until the next call.
func (s *mirroring) screen() []byte {
	s.page.Take(s.term, leftSince(s.term, &s.top))
	s.page.Hide(s.hide)
	s.out = s.mirror.Frame(s.out[:0], s.term, vt.Cover{
		Cells: s.page.Hidden, Link: s.hideLink, Mask: redact.Mask, Title: s.hide.Text(s.term.Title()),
	})
	return s.out
}

// Redacted returns a terminal that shows what t shows, with what r hides masked,
// on the screen and above it.
func Redacted(t *vt.Terminal, r *redact.Redactor) *vt.Terminal {
	cols, rows := t.Size()
	s := &mirroring{hide: r, links: map[[2]string]bool{}, term: t, mirror: vt.NewMirror(config(cols, rows)), top: t.FirstLine()}
	shown := vt.New(config(cols, rows))
	shown.Write(s.screen()) // A terminal takes every byte.
	return shown
}

// maxLinks bounds the links whose answer is remembered; beyond it all are
// forgotten.
const maxLinks = 4096

func (s *mirroring) hideLink(link, id string) bool {
	key := [2]string{link, id}
	hide, ok := s.links[key]
	if !ok {
		if len(s.links) >= maxLinks {
			clear(s.links)
		}
		hide = s.hide.Text(link) != link || s.hide.Text(id) != id
		s.links[key] = hide
	}
	return hide
}
