package dashboard

import (
	"slices"
	"sync"
	"time"

	"den/internal/screen/eventlog"
)

const (
	maxCheckpointBytes = 32 << 20 // the least used go
	maxPastFrames      = 64       // the least used go
)

// checkpoint is a dump of the terminal somewhere within a segment.
type checkpoint struct {
	log        string // the recording's key
	segment    uint64 // the last event before its segment
	at         eventlog.Position
	cols, rows int
	dump       []byte
}

// past caches the positions that scrubbing visited. Logged events never
// change, so entries never become stale.
type past struct {
	mu     sync.Mutex    // guards the fields below
	points []*checkpoint // the last used at the end
	bytes  int
	frames []pastFrame // the last used at the end
}

type pastFrame struct {
	log   string
	frame *Frame
}

// nearest returns the last checkpoint of the segment at or before seq and t,
// or nil.
func (p *past) nearest(log string, segment, seq uint64, t time.Duration) *checkpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, c := range p.points {
		if c.log != log || c.segment != segment || c.at.Seq > seq || c.at.Elapsed > t {
			continue
		}
		if best < 0 || c.at.Seq > p.points[best].at.Seq {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	c := p.points[best]
	p.points = append(slices.Delete(p.points, best, best+1), c)
	return c
}

func (p *past) keep(c *checkpoint) {
	if len(c.dump) > maxCheckpointBytes/4 {
		return // it would drive all others out
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.points {
		if known.log == c.log && known.at == c.at {
			return
		}
	}
	p.points = append(p.points, c)
	p.bytes += len(c.dump)
	drop := 0
	for p.bytes > maxCheckpointBytes {
		p.bytes -= len(p.points[drop].dump)
		drop++
	}
	p.points = slices.Delete(p.points, 0, drop)
}

func (p *past) frame(log string, seq uint64) *Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.frames {
		if f.log == log && f.frame.Seq == seq {
			p.frames = append(slices.Delete(p.frames, i, i+1), f)
			return f.frame
		}
	}
	return nil
}

func (p *past) keepFrame(log string, f *Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.frames) >= maxPastFrames {
		p.frames = slices.Delete(p.frames, 0, 1)
	}
	p.frames = append(p.frames, pastFrame{log, f})
}
