package terminal

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// tty is one open terminal.
type tty struct {
	number  int
	command string // as it was opened
	hold    bool   // a shell follows the command
	created time.Time
	tick    int // in which it was opened
	owner   int // of its directory
	session *session.Session
	changed func() // called when something happened; set once

	typing  sync.Mutex // one call types at a time, from its checks to its answer
	writing sync.Mutex // one writes the files at a time, from what is stale to how it went

	stop context.CancelFunc // ends the follower
	done chan struct{}      // closed when it has ended

	mu     sync.Mutex // guards the fields below
	label  string
	view   *view
	seq    uint64    // the last event that was applied
	output uint64    // the last that was output
	input  uint64    // the last that was input
	active time.Time // when one of them was applied
	raw    []byte    // output that is not in the file yet
	stale  bool      // the files do not show all of this
	gap    error     // what the log lacks, until the view is made anew

	seen    uint64    // the agent knows what was printed up to this event
	newer   time.Time // when the first output after it came
	owed    bool      // it typed something, and has not seen what became of it
	shown   bool      // open showed that it waits, and nothing was waited for or typed since: a wait need not wait
	sending bool      // keystrokes are on their way: what is known of the program is old
	echo    echo      // of that
	rested  uint64    // the program was found at rest when the log was here
	resting rest      // and in what way; working: it was not yet
	program string    // in the foreground, when it was last asked for
	state   string    // of that, as of asked
	asked   uint64    // the log was here when it was last asked for
	notes   []string
	end     *ending // or nil while it runs
	told    bool    // its end was reported
}

// rest is how a program comes to rest.
type rest int

const (
	working rest = iota
	waiting      // for input, as the kernel tells
	silent       // nothing happened for a while, and the kernel does not tell more
)

// ending is how a terminal ended.
type ending struct {
	exit Exit
	lost bool
}

// errGap ends following: the log lacks something, and the view must be made
// anew.
var errGap = errors.New("the log lacks events")

// follow applies the events of the session until it is over, or ctx is done.
func (t *tty) follow(ctx context.Context) {
	defer close(t.done)
	for {
		err := t.session.Follow(ctx, t.now().applied, t.apply)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errGap) || err == nil && t.now().lacks {
			err = t.resync(ctx)
			if err == nil {
				continue
			}
		}
		t.ended(ctx, err)
		return
	}
}

// warn is told what the session's log lacks, between two events.
func (t *tty) warn(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if eventlog.Missing(err) {
		t.gap = err
		return
	}
	t.notes = append(t.notes, err.Error())
}

// apply takes the next event.
func (t *tty) apply(ev eventlog.Event) error {
	t.mu.Lock()
	if t.gap != nil {
		t.mu.Unlock()
		return errGap
	}
	if out, ok := ev.Output(); ok {
		t.view.write(out)
		if t.output <= t.seen {
			t.newer = time.Now()
		}
		t.output, t.active, t.stale = ev.Seq, time.Now(), true
		t.raw = appendRaw(t.raw, out)
	} else if cols, rows, ok := ev.Size(); ok {
		t.view.resize(cols, rows)
		t.stale = true
	} else if ev.Code == eventlog.Clear {
		t.view.clearScrollback()
		t.stale = true
	} else if isInput(ev.Code) {
		t.input, t.active = ev.Seq, time.Now()
	}
	t.seq = ev.Seq
	t.mu.Unlock()
	t.changed()
	return nil
}

// facts are what others want to know of a terminal, at one moment.
type facts struct {
	applied uint64        // the last event
	lacks   bool          // the log does
	live    bool          // its program runs
	fresh   bool          // there is something that the agent has not seen
	stale   bool          // the files do not show all of it
	seen    uint64        // the agent knows what was printed up to this event
	owed    bool          // it has not seen what became of its keystrokes
	quiet   time.Duration // nothing has happened for so long
	last    uint64        // the last event that did
}

func (t *tty) now() facts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return facts{
		applied: t.seq, lacks: t.gap != nil, live: t.end == nil, fresh: t.owed || t.output > t.seen || t.end != nil && !t.told, stale: t.stale,
		seen: t.seen, owed: t.owed, quiet: time.Since(t.active), last: t.lastActivity(),
	}
}

func isInput(code string) bool {
	return code == eventlog.Input || code == eventlog.InputBytes || code == eventlog.Hidden
}

// resync makes the view anew from the log's last screen, and notes that
// something was lost.
func (t *tty) resync(ctx context.Context) error {
	r, err := t.session.Replay(ctx, session.Now())
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v := viewOf(r.Terminal, r.Position.Seq, t.view.lines)
	v.next, v.texts, v.alt = v.gone, nil, nil // all of the screen is new
	t.notes = append(t.notes, fmt.Sprintf("output was lost: %v; the screen is shown as it is now", t.gap))
	t.view, t.gap = v, nil
	t.seq, t.output = r.Position.Seq, r.Position.Seq
	t.active, t.stale = time.Now(), true
	return nil
}

// ended finds out how the session ended.
func (t *tty) ended(ctx context.Context, followed error) {
	end, err := t.ending(ctx)
	if ctx.Err() != nil {
		return // nobody wants to know any more
	}
	followed = errors.Join(followed, err)
	t.mu.Lock()
	t.end, t.stale = end, true
	if followed != nil {
		t.notes = append(t.notes, fmt.Sprintf("its output could not be followed: %v", followed))
	}
	t.mu.Unlock()
	t.changed()
}

// ending asks how the session ended. A host closes its log before it tells.
func (t *tty) ending(ctx context.Context) (*ending, error) {
	r, err := t.session.Wait(ctx, wire.Wait{Exit: true, Timeout: callLimit})
	if err != nil {
		return &ending{lost: true}, err
	}
	end := &ending{exit: Exit{Code: r.ExitCode, Signal: r.ExitSignal}}
	if r.ExitCode == nil && r.ExitSignal == "" {
		status, err := t.session.Status(ctx)
		end.lost = err != nil || status.Status == string(home.Lost)
		return end, err
	}
	return end, nil
}

// observe returns what a wait needs to know.
func (t *tty) observe(until *regexp.Regexp) observed {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := observed{
		ended: t.end != nil && !t.told,
		due:   t.owed || t.output > t.seen || len(t.notes) > 0 || t.shown && until == nil,
		more:  t.output > t.seen && !(t.owed && t.view.covers(t.echo)),
	}
	if o.more {
		o.age = time.Since(t.newer)
	}
	if !t.sending && t.rested <= t.seq && t.rested >= t.lastActivity() {
		o.rest = t.resting
	}
	if until != nil {
		o.matched = t.matchLocked()
	}
	return o
}

// lastActivity is the last event that was output or input. t.mu is held.
func (t *tty) lastActivity() uint64 { return max(t.output, t.input) }

// matchLocked reports whether what the agent waits for is among what it has not
// seen.
func (t *tty) matchLocked() bool {
	s := &t.view.lines
	if s.matched || t.output <= t.seen {
		return s.matched
	}
	var lines []Line
	if t.view.term.Modes().AltScreen {
		_, rows := t.view.term.Size()
		for y := range rows {
			lines = append(lines, Line{Text: string(t.view.term.Row(y).AppendText(nil))})
		}
	} else {
		t.view.waiting(func(l Line) { lines = append(lines, l) })
	}
	s.found, s.matched = s.peek(lines)
	return s.matched
}

// expect sets what is waited for, or nil.
func (t *tty) expect(until *regexp.Regexp) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.lines.expect(until)
}

// rests notes that the program was at rest when the log was at seq.
func (t *tty) rests(seq uint64, how rest) {
	t.mu.Lock()
	t.rested, t.resting = seq, how
	t.mu.Unlock()
	t.changed()
}

// learn keeps what was found in the foreground.
func (t *tty) learn(f wire.Foreground) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name := currentProgram(f); name != "" {
		t.program = name
	}
	t.state, t.asked = stateOf(f.Ready), f.Seq
}

// stateLocked is what the program does, as far as the agent can be shown.
func (t *tty) stateLocked() string {
	if t.state == StateReady && t.asked > t.seq {
		return StateRunning // what it printed before it waited is still to come
	}
	return t.state
}

// ask asks the host what is in the foreground. A host that cannot tell is no
// reason to fail: then the last answer stands.
func (t *tty) ask(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	f, err := t.session.Foreground(limited)
	switch fault.KindOf(err) {
	case "":
		t.learn(f)
	case fault.Unsupported, fault.Protocol:
		t.mu.Lock()
		t.state = StateUnknown
		t.mu.Unlock()
	default:
		// It may just have ended: the follower tells.
	}
}

func stateOf(r wire.Readiness) string {
	switch r.State {
	case "ready":
		return StateReady
	case "busy":
		return StateRunning
	}
	return StateUnknown
}

// take returns what is new, and makes it seen. With whole, nothing is left out
// that can be shown.
func (t *tty) take(whole bool) (Report, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.reportLocked()
	v := t.view
	v.take()
	var err error
	r.Lines, err = v.lines.drain(whole)
	if v.term.Modes().AltScreen {
		r.FullScreen = true
		r.Rows = v.takeAlt()
	}
	r.Cleared, v.cleared = v.cleared, false
	r.Notes, t.notes = t.notes, nil
	t.seen, t.owed, t.shown, t.echo = t.seq, false, false, echo{}
	if t.end != nil {
		t.told = true
	}
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the whole could not be written: %v", err))
	}
	return r, err
}

// reportLocked is a report without what is new.
func (t *tty) reportLocked() Report {
	r := Report{Number: t.number, Label: t.label, Command: t.command, Program: t.program, State: t.stateLocked()}
	if t.end != nil {
		exit := t.end.exit
		r.Exit, r.State = &exit, StateExited
		if t.end.lost {
			r.State = StateLost
		}
	}
	return r
}

// setShown notes whether a wait need not wait for the program, as open has shown
// that it waits.
func (t *tty) setShown(shown bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = shown
}

// typed notes keystrokes that are about to be sent.
func (t *tty) typed(s strokes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owed, t.sending = true, true
	t.echo = t.view.echoOf(s.lines, s.entered)
	lines := &t.view.lines
	lines.typed = append(lines.typed, s.lines...)
	lines.echo = append(lines.echo, s.lines...)
}

// sent notes that the keystrokes are the event seq.
func (t *tty) sent(seq uint64) {
	t.mu.Lock()
	t.sending, t.input = false, max(t.input, seq)
	t.active = time.Now()
	t.mu.Unlock()
	t.changed()
}

// unsent undoes typed: nothing was sent.
func (t *tty) unsent(s strokes, owed bool) {
	t.mu.Lock()
	t.sending, t.owed, t.echo = false, owed, echo{}
	lines := &t.view.lines
	lines.typed = lines.typed[:max(0, len(lines.typed)-len(s.lines))]
	lines.echo = lines.typed
	t.mu.Unlock()
	t.changed()
}
