package news

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// source is one session.
type source struct {
	s     *session.Session
	name  string
	place Place
	known bool // the cursor has a place in its log
	// program: it is no shell, and no keeper's agent. It says by itself when it
	// waits for input, as long as it has run no cell.
	program bool
	warn    func(error)

	awaited bool // the call has waited for it while it was active
	hit     bool // its text, or its silence, was told
	mute    bool // its text cannot come any more
}

// happened names what an event says of a cell.
func happened(id, status, question string) string { return id + " " + status + " " + sum(question) }

// isDue reports whether a record says what the log has yet to say: a host writes
// the record first.
func (src *source) isDue(rec cell.Record) bool {
	status, question, seq := string(rec.Status), "", rec.EndSeq
	switch {
	case !rec.Final() && !rec.Asks():
		return false
	case !rec.Final():
		status, question, seq = cell.Asking, rec.Question, rec.AskedSeq
	}
	return src.place.Seq < seq || src.place.Last != "" && src.place.Last != happened(rec.CellID, status, question)
}

// scan reads the log from the place on.
func (src *source) scan(begun time.Time) (found []Event, err error) {
	if src.place.Over {
		return nil, nil
	}
	// Before the log: all that a session which is over has said is in it.
	m, err := src.s.Dir.Reconcile()
	if fault.KindOf(err) == fault.NotFound {
		src.place.Over = true // somebody removed it
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	src.name = m.Name
	src.program = m.Labels[home.OwnerLabel] == "" && !src.s.Dir.HasShell()
	add := func(e Event) {
		if !e.Time.Before(begun) {
			e.Session, e.of = m.Name, src
			found = append(found, e)
		}
	}
	err = src.read(m, begun, add)
	if err != nil && fault.KindOf(err) != fault.NotFound { // a log that is not there says nothing
		return nil, err
	}
	if m.Status.Final() && !src.place.Over {
		src.place.Over = true
		if !src.wasKilled(m) && !src.had(SessionEnd) {
			add(Event{Status: session.StatusClosed, Time: m.Ended, Ending: m.Ending(), ExitCode: m.ExitCode, ExitSignal: m.ExitSignal})
		}
	}
	return found, nil
}

// read passes on what the log says behind the place.
func (src *source) read(m *home.Manifest, begun time.Time, add func(Event)) error {
	log, err := eventlog.Open(src.s.Dir.Log())
	if err != nil {
		return err
	}
	if !src.known && src.place.Seq == 0 {
		src.known = true
		if src.place.Seq, err = before(log, begun.Sub(m.Created)); err != nil {
			return err
		}
	}
	for ev, err := range log.Events(src.place.Seq) {
		if eventlog.Missing(err) {
			src.warn(err)
			continue
		}
		if err != nil {
			return err
		}
		src.place.Seq = ev.Seq
		e, ok := session.EventOf(ev)
		if ok && e.CellID != "" {
			src.place.Last = happened(e.CellID, e.Status, e.Question)
		}
		if !ok || e.CellEnded() && src.had(e.CellID) || !src.isTold(e, m) {
			continue
		}
		told := Event{Status: e.Status, Time: m.Created.Add(ev.Time), From: e.From, Message: e.Message, ExitCode: e.ExitCode, seq: ev.Seq}
		switch {
		case e.CellID != "":
			told.Result = &cell.Result{
				CellID: e.CellID, Status: cell.Status(e.Status), By: cell.By(e.By), ExitCode: e.ExitCode, WaitingFor: e.WaitingFor, Question: e.Question,
				InnerShell: e.InnerShell,
			}
		case e.Status == session.StatusClosed:
			src.place.Over = true
			if src.wasKilled(m) || src.had(SessionEnd) {
				continue
			}
			if code, err := strconv.Atoi(string(ev.Data)); err == nil {
				told.ExitCode = &code
			}
			told.ExitSignal = m.ExitSignal
			ended := home.Manifest{Status: home.Exited, ExitCode: told.ExitCode, ExitSignal: told.ExitSignal}
			told.Ending = ended.Ending()
		}
		add(told)
	}
	return nil
}

// before returns an event at or before a time since the session's start, so that
// not all of a long log is read.
func before(log *eventlog.Log, since time.Duration) (seq uint64, err error) {
	segments, err := log.Segments()
	for _, seg := range segments {
		if seg.Elapsed < since {
			seq = seg.Seq
		}
	}
	return seq, err
}

// isTold reports whether an event is one that callers are told.
func (src *source) isTold(e session.Event, m *home.Manifest) bool {
	switch {
	case e.Status == session.StatusNotify, e.Status == session.StatusClosed:
		return true
	case e.CellID == "" || e.Status == string(cell.Fired) || e.Told:
		return false
	}
	return e.By != string(cell.ByExit) || !src.wasKilled(m)
}

// had reports whether the caller has an end from another answer. It is asked once.
func (src *source) had(end string) bool {
	at := slices.Index(src.place.Had, end)
	if at < 0 {
		return false
	}
	src.place.Had = slices.Delete(slices.Clone(src.place.Had), at, at+1)
	return true
}

// wasKilled reports whether 'den kill' ended the session before the call waited
// for it: who did that knows.
func (src *source) wasKilled(m *home.Manifest) bool {
	return !src.awaited && (m.Status == home.Destroyed || m.Status == home.Destroying) && m.EndedBy == ""
}

// await returns when there may be something new, or ctx is done.
func (c *collector) await(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	heard := make(chan report, 3*len(c.sources)) // a slot for each watcher: no send blocks
	watch := func(look func(context.Context) report) {
		watchers.Go(func() {
			if r := look(watching); watching.Err() == nil || r.event != nil {
				heard <- r
			}
		})
	}
	for _, src := range c.sources {
		if src.place.Over {
			continue
		}
		src.awaited = true
		watch(src.follow)
		for _, w := range c.conditions(src) {
			watch(func(ctx context.Context) report { return src.wait(ctx, w) })
		}
	}
	var err error
	take := func(n report) {
		err = errors.Join(err, n.err)
		if n.mute != nil {
			n.mute.mute = true
		}
		if n.event != nil {
			n.event.of.note(n.event)
			c.events = append(c.events, *n.event)
		}
	}
	select {
	case n := <-heard:
		take(n)
	case <-ctx.Done():
	}
	stop()
	watchers.Wait()
	close(heard)
	for n := range heard {
		take(n)
	}
	return err
}

// report is what a watcher heard: an event that no log has, or that there is one
// in the log, or that a session's text cannot come, or that the watcher cannot go
// on.
type report struct {
	event *Event
	mute  *source
	err   error
}

// follow returns when the log has an event that is told, or the session is over.
func (src *source) follow(ctx context.Context) report {
	there := errors.New("there is news")
	m, err := src.s.Dir.Inspect()
	if err != nil {
		return report{} // the next look says why
	}
	err = src.s.Follow(ctx, src.place.Seq, func(ev eventlog.Event) error {
		if e, ok := session.EventOf(ev); ok && src.isTold(e, m) {
			return there
		}
		return nil
	})
	if errors.Is(err, there) || ctx.Err() != nil || fault.KindOf(err) == fault.NotFound {
		return report{}
	}
	return report{err: err}
}

// conditions returns what is waited for on a session's screen.
func (c *collector) conditions(src *source) (all []wire.Wait) {
	if src.hit {
		return nil
	}
	begun := uint64(0) // of the cell
	works := true
	if rec, err := src.s.Cells().Load(""); err == nil {
		begun, works = rec.StartSeq, !rec.Final() && !rec.Asks()
	} else if src.program {
		all = append(all, src.untilWaiting())
	}
	if (c.req.Text != nil || c.req.Regex != nil) && !src.mute {
		all = append(all, wire.Wait{Text: c.req.Text, Regex: c.req.Regex, ByCommand: true, After: max(src.place.Text, begun, 1)})
	}
	if c.req.Idle > 0 && works {
		all = append(all, wire.Wait{Idle: c.req.Idle, After: max(src.place.Idle, begun)})
	}
	return all
}

// wait waits for the screen. Of a session that is over the log tells.
func (src *source) wait(ctx context.Context, w wire.Wait) report {
	r, err := src.s.Wait(ctx, w)
	switch {
	case err == nil && r.Matched:
		return report{event: src.met(w, r)}
	case err == nil && (w.Text != nil || w.Regex != nil):
		return report{mute: src} // the command that could print it has ended
	case err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotRunning:
		src.warn(err)
	}
	<-ctx.Done()
	return report{}
}

// untilWaiting is the wait for a program that waits for input, and has printed
// something since that was told.
func (src *source) untilWaiting() wire.Wait { return wire.Wait{Ready: true, After: src.place.Waiting} }

// met is the event of a wait that was met.
func (src *source) met(w wire.Wait, r *wire.WaitResult) *Event {
	e := &Event{Session: src.name, Status: Text, Time: time.Now().UTC(), Match: r.Text, of: src, seq: r.Seq}
	switch {
	case w.Ready:
		e.Status = Waiting
	case w.Idle > 0:
		e.Status, e.SilentMS = Idle, w.Idle.Milliseconds()
	}
	if id := src.s.ActiveCell(); id != "" {
		e.Result = &cell.Result{CellID: id}
	}
	return e
}

// glance is how long a host may take to say what its program does.
const glance = 2 * time.Second

// works reports whether the program of a session without cells does something that
// comes to an end. A server does not. That it waits for input is noted as an event.
// Of a host that could not be asked in time it is not known, so something may come.
func (c *collector) works(ctx context.Context, src *source) bool {
	if src.hit {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	w := src.untilWaiting()
	w.Timeout = 20 * time.Millisecond // two looks
	r, err := src.s.Wait(ctx, w)
	switch {
	case err != nil:
		return mayTell(err)
	case r.Status == wire.WaitEnded:
		return true
	case r.Matched:
		e := src.met(w, r)
		src.note(e)
		c.events = append(c.events, *e)
		return false
	}
	status, err := src.s.HostStatus(ctx)
	if err != nil || status.Ready == nil {
		return mayTell(err)
	}
	about := status.Ready.State == "ready" && slices.Contains(r.Unmet, "ready")
	gone := status.Ready.State == "unknown" && status.Foreground == nil // its end is about to be told
	return about || gone || status.Ready.State == "busy" && !status.Ready.Outside
}

// mayTell reports whether a session may have news although its host gave an error:
// its end is about to be told, or it did not answer in time.
func mayTell(err error) bool {
	switch fault.KindOf(err) {
	case fault.NotRunning, fault.Unreachable, fault.Timeout:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// note keeps that an event was told which no log has.
func (src *source) note(e *Event) {
	src.hit = true
	switch e.Status {
	case Idle:
		src.place.Idle = e.seq
	case Waiting:
		src.place.Waiting = e.seq
	default:
		src.place.Text = e.seq
	}
}
