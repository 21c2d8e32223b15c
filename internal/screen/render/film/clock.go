package film

import (
	"iter"
	"time"

	"den/internal/screen/eventlog"
)

// clock turns the times of a log into those of a film.
type clock struct {
	speed float64
	limit time.Duration // of a pause; 0 = none
	last  time.Duration // in the log
	film  time.Duration
}

// frameTime is the shortest time that a picture is shown.
const frameTime = 50 * time.Millisecond

func newClock(o *Options) *clock {
	c := &clock{speed: o.Speed, limit: o.IdleLimit}
	atMost := func(d time.Duration) {
		if c.limit == 0 || c.limit > d {
			c.limit = d
		}
	}
	switch o.Timing {
	case Accelerated:
		atMost(400 * time.Millisecond)
	case Max:
		atMost(frameTime)
	}
	return c
}

// at moves the clock on to a time of the log.
func (c *clock) at(t time.Duration) time.Duration {
	pause := max(t-c.last, 0)
	c.last = t
	if c.limit > 0 {
		pause = min(pause, c.limit)
	}
	c.film += time.Duration(float64(pause) / c.speed)
	return c.film
}

// take is an event that can be seen in a film.
type take struct {
	eventlog.Event
	At     time.Duration // in the film
	Before bool          // of the asked part: it makes the first picture
}

// takes yields the visible events: output, resizes, marks and the end. The
// data of an event is valid until the next.
func (m *maker) takes() iter.Seq2[take, error] {
	return func(yield func(take, error) bool) {
		c := newClock(&m.o)
		m.result.Missing = nil
		begun := false
		end := time.Duration(0)
		for ev, err := range m.log.Play() {
			if err == nil {
				err = m.ctx.Err()
			}
			if eventlog.Missing(err) {
				m.result.Missing = append(m.result.Missing, err)
				continue
			}
			if err != nil {
				yield(take{}, err)
				return
			}
			if m.until > 0 && ev.Seq > m.until {
				break // the session goes on while it is filmed
			}
			if m.o.To > 0 && ev.Time > m.o.To {
				end = c.at(m.o.To)
				break
			}
			switch ev.Code {
			case eventlog.Output, eventlog.OutputBytes, eventlog.Resize, eventlog.Mark, eventlog.Exit:
			default:
				continue
			}
			before := ev.Time < m.o.From
			if !begun && !before {
				begun = true
				c.last = m.o.From
				if m.o.From == 0 {
					c.last = ev.Time // the log may have lost its beginning
				}
			}
			t := take{Event: ev, Before: before}
			if !before {
				t.At = c.at(ev.Time)
				end = t.At
			}
			if !yield(t, nil) {
				return
			}
		}
		m.result.Duration = end
	}
}
