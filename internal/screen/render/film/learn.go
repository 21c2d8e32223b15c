package film

import (
	"context"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// scrollbackOfFrame holds what one frame can push off the screen.
const scrollbackOfFrame = 1 << 17

// Learn returns r with the knowledge of every secret that the log shows whole
// at some time: a part of one is then hidden also where it has no form.
func Learn(ctx context.Context, l *eventlog.Log, r *redact.Redactor) (*redact.Redactor, error) {
	if r == nil {
		return nil, nil
	}
	s := &learner{r: r, secrets: redact.NewSecrets()}
	for ev, err := range l.Play() {
		if err == nil {
			err = ctx.Err()
		}
		if eventlog.Missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.event(ev)
	}
	s.search()
	return r.Knowing(s.secrets), nil
}

// learner collects the secrets of a log.
type learner struct {
	r       *redact.Redactor
	secrets *redact.Secrets
	term    *vt.Terminal
	page    redact.Page
	pace    pace
	raw     []byte // the end of the output, with the event at hand
	top     int64  // the screen's first row when it was last searched
	title   string // the last that was searched
}

func (s *learner) event(ev eventlog.Event) {
	if s.pace.due(ev.Time, s.term) {
		s.search()
	}
	if cols, rows, ok := ev.Size(); ok && ev.Repaint {
		s.search()
		s.term, s.top = vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: scrollbackOfFrame}), 0
		return
	}
	switch out, output := ev.Output(); {
	case output:
		s.read(out)
	case ev.Code == eventlog.Resize:
		s.search()
	case ev.Code == eventlog.Mark:
		s.r.Collect(ev.Data, s.secrets)
		return
	default:
		return
	}
	replay.Apply(s.term, ev)
	s.pace.changed(ev.Time)
	if ev.Code == eventlog.Resize {
		s.top = s.term.ScreenLine()
	}
}

// rawTail is how much of the output before an event is searched with it.
const rawTail = 512

// read searches the output itself. It is not always on the screen long enough
// to be seen, as when a program scrolls sideways at once.
func (s *learner) read(out []byte) {
	s.raw = append(s.raw, out...)
	s.r.Collect(s.raw, s.secrets)
	s.raw = append(s.raw[:0], s.raw[max(0, len(s.raw)-rawTail):]...)
}

// search reads the screen, and what left it since the last time.
func (s *learner) search() {
	if s.term == nil || !s.pace.dirty {
		return
	}
	s.pace.dirty = false
	s.page.Take(s.term, leftSince(s.term, &s.top))
	s.page.Collect(s.r, s.secrets)
	if title := s.term.Title(); title != s.title {
		s.title = title
		s.r.Collect([]byte(title), s.secrets)
	}
}

// leftSince returns how many rows left the screen since its first row was top,
// and moves top on.
func leftSince(t *vt.Terminal, top *int64) int {
	now := t.ScreenLine()
	n := now - max(min(*top, now), t.FirstLine())
	*top = now
	return int(n)
}

// castFrame is the shortest time between two frames of a redacted cast.
const castFrame = time.Second / 60

// pace decides when a screen that changed becomes a frame.
type pace struct {
	dirty bool
	since time.Duration // when the first change came
	last  time.Duration // when the last one did
}

// changed notes a change.
func (p *pace) changed(at time.Duration) {
	if !p.dirty {
		p.dirty, p.since = true, at
	}
	p.last = at
}

// due reports whether the changes before this time are a frame. A synchronised
// update is not cut, unless it takes too long.
func (p *pace) due(at time.Duration, t *vt.Terminal) bool {
	if !p.dirty || at-p.since < castFrame {
		return false
	}
	return !t.Modes().Sync || at-p.since >= syncPatience
}
