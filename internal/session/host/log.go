package host

import (
	"context"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"den/internal/base/rpc"
	"den/internal/base/wake"
	"den/internal/screen/eventlog"
	"den/internal/session/wire"
)

// Bounds of one part of a log stream. Longer content is split.
const (
	partEvents = 256
	partBytes  = 32 << 10
)

// streamLog streams the log by sequence number. It reads the log's files in
// the client's goroutine, so that a slow client blocks nothing else.
func (h *Host) streamLog(ctx context.Context, c *rpc.Call) (any, error) {
	var asked wire.Log
	if err := c.Decode(&asked); err != nil {
		return nil, err
	}
	log, err := eventlog.Open(h.dir.Log())
	if err != nil {
		return nil, err
	}
	tail, err := log.Tail(asked.After)
	if err != nil {
		return nil, err
	}
	defer tail.Close()
	news := h.core.watchLog()
	defer h.core.unwatchLog(news)
	r := &logReader{asked: asked, tail: tail}
	for {
		over := h.core.isOver() // before the log is read to its end
		part, more, err := r.read()
		if err != nil {
			return nil, err
		}
		switch {
		case r.exited || over && !more:
			part.Ended = true
			return part, nil
		case h.isUpgrading():
			part.Upgrade = true
			return part, nil
		case !more && !asked.Follow:
			return part, nil
		}
		if !isEmpty(part) {
			if err := c.Send(part); err != nil {
				return nil, err
			}
		}
		if more {
			continue
		}
		select {
		case <-news:
		case <-h.upgrading:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// logReader reads a log in parts.
type logReader struct {
	asked   wire.Log
	tail    *eventlog.Tail
	begun   wire.LogPart // what was read already of the next part
	segment int          // of the last event
	exited  bool         // the exit was read
}

// read returns the next part. more reports whether another one may be
// available at once.
func (r *logReader) read() (part wire.LogPart, more bool, err error) {
	part, r.begun = r.begun, wire.LogPart{}
	for size := 0; len(part.Events) < partEvents && size < partBytes && !r.exited; {
		ev, err := r.tail.Next()
		switch {
		case errors.Is(err, io.EOF):
			return part, false, nil
		case eventlog.Missing(err):
			r.begun = missingPart(err)
		case err != nil:
			return part, false, err
		default:
			r.begun = r.partOf(ev)
			size += len(ev.Data)
			r.exited = ev.Code == eventlog.Exit
		}
		if !join(&part, r.begun) {
			return part, true, nil
		}
		r.begun = wire.LogPart{}
	}
	return part, true, nil
}

// partOf returns a part with one event, preceded by the head of its segment if
// the event is the first there.
func (r *logReader) partOf(ev eventlog.Event) (part wire.LogPart) {
	seg := r.tail.Segment()
	begins := seg.Index != r.segment
	r.segment = seg.Index
	// Unless the client asked for heads, a segment that began before its
	// position is continued without one.
	if begins && (r.asked.Head || seg.Seq >= r.asked.After) {
		part.Segment = &wire.LogSegment{
			Index: seg.Index, Seq: seg.Seq, Cols: seg.Header.Cols, Rows: seg.Header.Rows, Header: string(seg.Header.Raw),
		}
	}
	switch {
	case ev.Repaint && part.Segment != nil:
		repaint := logEvent(ev)
		part.Segment.Repaint = &repaint
	case !ev.Repaint && (r.asked.Head || ev.Seq > r.asked.After):
		part.Events = []wire.LogEvent{logEvent(ev)}
	}
	return part
}

// join appends next to part and reports true if the result is a valid part:
// its fields have a fixed order.
func join(part *wire.LogPart, next wire.LogPart) bool {
	switch {
	case next.Gap != nil || next.Damage != "":
		if !isEmpty(*part) {
			return false
		}
		part.Gap, part.Damage = next.Gap, next.Damage
	case next.Segment != nil:
		if part.Segment != nil || len(part.Events) > 0 {
			return false
		}
		part.Segment = next.Segment
	}
	part.Events = append(part.Events, next.Events...)
	return true
}

func isEmpty(p wire.LogPart) bool {
	return p.Gap == nil && p.Damage == "" && p.Segment == nil && len(p.Events) == 0
}

// missingPart returns the part that reports missing events.
func missingPart(err error) wire.LogPart {
	var gap *eventlog.Gap
	if errors.As(err, &gap) {
		return wire.LogPart{Gap: &wire.LogGap{From: gap.From, To: gap.To}}
	}
	return wire.LogPart{Damage: err.Error()}
}

func logEvent(ev eventlog.Event) wire.LogEvent {
	out := wire.LogEvent{Seq: ev.Seq, Elapsed: ev.Time.Microseconds(), Code: ev.Code}
	if utf8.Valid(ev.Data) {
		out.Text = string(ev.Data)
	} else {
		out.Bytes = append([]byte(nil), ev.Data...) // the tail goes on to use it
	}
	return out
}

// watchLog returns a channel that gets a token when the log has grown or is
// over.
func (c *core) watchLog() wake.Signal {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := wake.New()
	c.logNews[news] = struct{}{}
	return news
}

func (c *core) unwatchLog(news wake.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.logNews, news)
	if len(c.logNews) == 0 && c.logsRead != nil {
		close(c.logsRead)
		c.logsRead = nil
	}
}

// logGrace is the time that log streams have to read the rest when the session
// is over. A reader without access to the files cannot read it later.
const logGrace = 10 * time.Second

// awaitLogReaders waits until all log streams have read to the end.
func (c *core) awaitLogReaders() {
	c.mu.Lock()
	read := make(chan struct{})
	if len(c.logNews) == 0 {
		close(read)
	} else {
		c.logsRead = read
	}
	c.mu.Unlock()
	select {
	case <-read:
	case <-time.After(logGrace):
	}
}

func (c *core) logGrewLocked() {
	for news := range c.logNews {
		news.Set()
	}
}

// isOver reports whether the log is complete.
func (c *core) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended != nil
}
