package host

import (
	"cmp"
	"fmt"
	"time"

	"den/internal/process/pty"
	"den/internal/screen/eventlog"
	"den/internal/session/attention"
	"den/internal/session/cell"
	"den/internal/session/home"
)

const (
	// notePause is how long nothing must be printed or typed before the host
	// looks whether its program waits for input. One look comes within two of
	// it.
	notePause = 200 * time.Millisecond
	// firstPause is how long a host that has just begun does not look: hundreds
	// of them may come up at once, and need the time for that.
	firstPause = time.Second
	// busyPatience is how long a program may look busy in a pause before it is
	// noted as working: it may just be about to wait.
	busyPatience = 100 * time.Millisecond
	// noteProbePause is the first pause between two probes of a program that is
	// not ready: nobody waits for the note, and every host makes them.
	noteProbePause = 20 * time.Millisecond
	// guessAfter is how long a program of which the kernel cannot tell must
	// stand still to be taken for waiting.
	guessAfter = 2 * time.Second
	// The pauses between two looks at a program that works in silence grow from
	// the first of these to the last.
	firstLater = 200 * time.Millisecond
	lastLater  = 10 * time.Second
)

// noter notes what the program does: in the log and in the record, where those
// find it who list sessions. It looks in pauses of output, and sleeps
// while the program waits.
type noter struct {
	h     *Host
	stop  <-chan struct{}
	timer *time.Timer
}

// notePauses runs until stop is closed. A host that has just begun looks once.
func (h *Host) notePauses(stop <-chan struct{}) {
	n := &noter{h: h, stop: stop, timer: time.NewTimer(firstPause)}
	defer n.timer.Stop()
	if !n.rest(firstPause, nil) {
		return
	}
	for {
		activity, ok := n.awaitPause()
		if !ok {
			return
		}
		n.look(activity)
		for activity == h.core.lastActivity() {
			select {
			case <-h.core.moved:
			case <-stop:
				return
			}
		}
	}
}

// rest sleeps, and returns false if the host ends meanwhile. What comes through
// wake ends the sleep early.
func (n *noter) rest(d time.Duration, wake <-chan struct{}) bool {
	n.timer.Reset(d)
	select {
	case <-n.timer.C:
	case <-wake:
	case <-n.stop:
		return false
	}
	return true
}

// awaitPause returns at the next pause in output and input. A program that
// prints for longer works.
func (n *noter) awaitPause() (activity uint64, ok bool) {
	before := n.h.core.lastActivity()
	for lasted := 0; n.rest(notePause, nil); lasted++ {
		now := n.h.core.lastActivity()
		if now == before {
			return now, true
		}
		before = now
		if lasted == 1 {
			n.h.noteWorking()
		}
	}
	return 0, false
}

// look finds out what the program does in a pause. While it works in silence,
// look looks again from time to time: the program may begin to wait in silence
// too. If it goes on meanwhile, the next pause tells.
func (n *noter) look(activity uint64) {
	h, check, later := n.h, n.h.newSlowReadyCheck(noteProbePause), firstLater
	var p pauseLook
	for h.core.lastActivity() == activity && h.requireRunning() == nil {
		p.take(check.seen(activity), check)
		what, decided := p.says()
		decided = decided || p.last.State == pty.Busy && h.worked() // which is nothing new
		pause := check.backoff()
		switch {
		case decided && what == attention.Waiting:
			n.noteWaiting(p.guess())
			return
		case decided:
			h.noteWorking()
			if p.last.State != pty.Ready { // else the second of two probes that must agree is due
				pause, later = later, min(2*later, lastLater)
			}
		}
		if !n.rest(pause, h.core.moved) {
			return
		}
	}
}

// pauseLook is what the probes of one pause have shown.
type pauseLook struct {
	ready  bool // two probes agree that it waits for the terminal alone
	asks   bool // it waits for the terminal and its own timers
	last   pty.Readiness
	begun  time.Time
	now    time.Time
	still  time.Time // since when no thread has run
	probed bool
}

func (p *pauseLook) take(ready bool, check *readyCheck) {
	now := time.Now()
	if !p.probed {
		p.begun, p.still, p.probed = now, now, true
	}
	if check.last.Fingerprint != p.last.Fingerprint || check.last.Fingerprint == (pty.Fingerprint{}) {
		p.still = now
	}
	p.ready, p.last, p.now = ready, check.last, now
	p.asks = cell.IsAsking(check.stood(), check.ticked()) || p.last.Quiet > 0 && check.ticked() > p.last.Quiet
}

// says is the rule. It is not decided while more probes may tell.
func (p *pauseLook) says() (what attention.Activity, decided bool) {
	looked := p.now.Sub(p.begun)
	switch {
	case p.ready, p.asks:
		return attention.Waiting, true
	case p.last.State == pty.Busy:
		return attention.Working, looked >= busyPatience
	case p.last.State == pty.Unknown && !p.last.Gone && p.now.Sub(p.still) >= guessAfter:
		return attention.Waiting, true
	}
	return attention.Working, looked >= guessAfter+busyPatience
}

// guess reports whether the kernel did not say that it waits.
func (p *pauseLook) guess() bool { return !p.ready }

// noteWorking notes that the program works.
func (h *Host) noteWorking() {
	h.noteActivity(attention.Working, false, func(n attention.Note, now time.Time) attention.Note { return n.Work(now) })
}

// noteWaiting notes that the program waits for input. It is the end of a turn
// if somebody had typed and the program was seen at work. What happens within a
// cell is the cell's: its end is noted with it.
func (n *noter) noteWaiting(guess bool) {
	h := n.h
	h.cells.mu.Lock()
	defer h.cells.mu.Unlock()
	end := attention.Idle
	if h.cells.active == nil {
		end = h.endOfTurn()
	}
	h.noteActivity(attention.Waiting, guess, func(n attention.Note, now time.Time) attention.Note { return n.Rest(now, end) })
}

// endOfTurn is the end of the turn that was typed, if there was one.
func (h *Host) endOfTurn() attention.End {
	switch typed, taken := h.core.endTurn(); {
	case !typed || !h.worked():
		return attention.Idle
	case taken:
		return attention.Taken
	}
	return attention.News
}

// worked reports whether the program was last noted at work.
func (h *Host) worked() bool {
	m := h.manifest()
	return m.Noted != nil && m.Noted.Activity == attention.Working
}

// noteActivity writes down a change of what the program does: first in the record,
// so that who hears of it from the log finds it there. What is noted already is
// not written again.
func (h *Host) noteActivity(what attention.Activity, guess bool, change func(attention.Note, time.Time) attention.Note) {
	if m := h.manifest(); m.Noted != nil && m.Noted.Activity == what {
		return
	}
	at := h.core.lastMoved() // not later: somebody may have looked since
	h.editNoted(func(n *home.Noted) {
		n.Note, n.Guess = change(n.Note, at), guess
	})
	h.core.append(eventlog.Note, eventlog.ActivityNote{Activity: string(what), Guess: guess}.Encode())
}

// editNoted changes what is noted in the record. The old note is not touched:
// copies of the record share it.
func (h *Host) editNoted(change func(*home.Noted)) {
	h.edit(func(m *home.Manifest) {
		var n home.Noted
		if m.Noted != nil {
			n = *m.Noted
		}
		change(&n)
		m.Noted = &n
	})
}

// endTurn returns whether callers have typed since the last turn ended, and
// whether somebody has seen what came of it: a caller waited for it and was told,
// or a person is attached.
func (c *core) endTurn() (typed, taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	typed, taken = c.Inputs != c.Settled, c.Told == c.Inputs || len(c.followers) > 0
	c.Settled = c.Inputs
	return typed, taken
}

// lastMoved returns when something was last printed or typed.
func (c *core) lastMoved() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(max(c.LastOutput, c.LastInput) - c.clock()).UTC()
}

// noteTold notes that a caller was told what came of its input.
func (c *core) noteTold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Told = c.Inputs
}

// noteTaken notes that a caller was told of an end that was news.
func (h *Host) noteTaken() {
	h.core.noteTold()
	if m := h.manifest(); m.Noted != nil && !m.Noted.Over.IsZero() {
		h.editNoted(func(n *home.Noted) { n.Over, n.Failure = time.Time{}, "" })
	}
}

// noteCellLocked notes in the session's record what of a cell concerns a person:
// what it asks, and an end that its caller was not told of. The record is not
// written for the others, which are most.
func (r *running) noteCellLocked() {
	h, rec := r.cells.h, &r.life.Record
	noted := home.Noted{}
	if m := h.manifest(); m.Noted != nil {
		noted = *m.Noted
	}
	before := noted
	noted.Question = r.questionLocked(noted.Question)
	if rec.Final() && rec.By != cell.ByRelease {
		h.core.endTurn() // what was typed, answers mostly, belonged to the cell
	}
	switch {
	case !rec.Final():
	case r.awaited > 0:
		noted.Over, noted.Failure = time.Time{}, ""
	case rec.Interrupted || rec.By == cell.ByRelease: // somebody ended it
	case rec.Status == cell.Failed || rec.ExitCode != nil && *rec.ExitCode != 0:
		noted.Note = noted.Fail(time.Now().UTC(), cellFailure(rec.Result))
	default:
		noted.Note = noted.Rest(time.Now().UTC(), attention.News)
	}
	if noted.Note != before.Note || noted.Question != before.Question {
		h.editNoted(func(n *home.Noted) { n.Note, n.Question = noted.Note, noted.Question })
	}
}

// questionLocked is what the cell asks: the question from before, if that is
// still the one.
func (r *running) questionLocked(before *attention.Question) *attention.Question {
	rec := &r.life.Record
	if rec.Final() || !rec.Asks() {
		return nil
	}
	text := cmp.Or(r.life.AskedLeft, rec.Question) // a line: lists show it
	switch {
	case text == "":
		text = "the program waits for " + rec.WaitingFor
	case rec.InnerShell:
		text = "an inner shell is at its prompt: " + text
	}
	if before != nil && before.Text == text {
		return before
	}
	return &attention.Question{Text: text, Asked: time.Now().UTC()}
}

// cellFailure says in a few words how a cell failed.
func cellFailure(r cell.Result) string {
	if r.ExitCode != nil {
		return fmt.Sprintf("cell %s: exit %d", r.CellID, *r.ExitCode)
	}
	return fmt.Sprintf("cell %s failed", r.CellID)
}

// Pauses between two probes of a program that is not ready. They start short,
// because most programs are ready soon, and grow, because probes are
// expensive.
const (
	firstProbePause = time.Millisecond
	lastProbePause  = 100 * time.Millisecond
)

// readyCheck determines whether the program waits for input. Two probes in a
// row must agree, with no activity between them.
type readyCheck struct {
	tty      *pty.PTY
	input    *inputQueue
	core     *core
	first    time.Duration // of the pauses
	pause    time.Duration // the next one
	activity uint64
	last     pty.Readiness
	again    bool      // the last pause was between two that must agree
	standing time.Time // since when no thread has run, and only a timer could have moved one
	ticking  time.Time // since when every probe found it waiting for the terminal and for timers
}

func (h *Host) newReadyCheck() *readyCheck { return h.newSlowReadyCheck(firstProbePause) }

// newSlowReadyCheck is newReadyCheck for those who are in less of a hurry.
func (h *Host) newSlowReadyCheck(first time.Duration) *readyCheck {
	return &readyCheck{tty: h.tty, input: h.input, core: h.core, first: first, pause: first}
}

// seen probes once. It reports whether the program was ready at this probe and
// the one before, with no activity between them.
func (r *readyCheck) seen(activity uint64) bool {
	if r.activity != activity {
		r.activity, r.pause, r.last = activity, r.first, pty.Readiness{}
		r.standing, r.ticking = time.Time{}, time.Time{}
	}
	if r.input.more() || r.core.repliesDue() { // it has yet to see what was sent
		r.last = pty.Readiness{}
		return false
	}
	now := r.tty.Probe()
	switch {
	case !now.OnlyTimers || !r.last.OnlyTimers || now.Fingerprint != r.last.Fingerprint:
		r.standing = time.Time{}
	case r.standing.IsZero():
		r.standing = time.Now()
	}
	switch {
	case !now.OnlyTimers:
		r.ticking = time.Time{}
	case r.ticking.IsZero():
		r.ticking = time.Now()
	}
	unchanged := now.State == pty.Ready && r.last.State == pty.Ready && now.Fingerprint == r.last.Fingerprint
	r.last = now
	return unchanged
}

// backoff returns how long to wait before the next probe. Output or input in
// the meantime wakes the waiter earlier.
func (r *readyCheck) backoff() time.Duration {
	first := r.last.State == pty.Ready && !r.again
	r.again = r.last.State == pty.Ready
	if first {
		return cell.ProbePause
	}
	p := r.pause
	r.pause = min(2*r.pause, lastProbePause)
	return p
}

// stood returns how long the program has waited for the terminal and its own
// timers without any of its threads running, or 0. Such a program is most
// likely idle, but may be sleeping as part of a command.
func (r *readyCheck) stood() time.Duration { return since(r.standing) }

// ticked returns for how long every probe has found the program waiting for
// the terminal and its own timers. It may have run between the probes.
func (r *readyCheck) ticked() time.Duration { return since(r.ticking) }

// since returns the time since t, or 0 if t is zero.
func since(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(time.Since(t), 1)
}
