package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/ticks/history"
)

// Login is the answer of login.
type Login struct {
	// Left are the terminals of earlier ticks, and what became of them.
	Left    []Left   `json:"left,omitempty"`
	Notices []string `json:"notices,omitempty"` // of the kernel
	Failed  []string `json:"failed,omitempty"`  // terminals that could not be opened
	Reports []Report `json:"terminals"`
	Free    int      `json:"free"`
}

// Left is a terminal that an earlier tick left.
type Left struct {
	Number  int    `json:"tty"`
	Command string `json:"command"`
	Tick    int    `json:"tick"`
	Became  string `json:"became"` // one of the values below
	Exit    *Exit  `json:"exit,omitempty"`
	Archive string `json:"archive,omitempty"`
	Note    string `json:"note,omitempty"`
}

// What became of a terminal that an earlier tick left.
const (
	LeftClosed = "closed" // it ran, and was closed
	LeftExited = "exited" // it had ended by itself
	LeftLost   = "lost"   // its host died, or nothing of it is there
)

// Text says what became of it.
func (l Left) Text() string {
	text := fmt.Sprintf("Terminal %d (%s), left by tick %d, ", l.Number, l.Command, l.Tick)
	switch l.Became {
	case LeftClosed:
		text += "still ran and was closed."
	case LeftExited:
		var how Exit
		if l.Exit != nil {
			how = *l.Exit
		}
		text += "had ended: " + how.String() + "."
	default:
		text += "was lost: its program is gone, and how it ended is not known."
	}
	if l.Archive != "" {
		text += " Archived in " + l.Archive + "."
	}
	if l.Note != "" {
		text += " (" + l.Note + ")"
	}
	return text
}

// Text is the answer as the agent reads it.
func (l Login) Text() string {
	var parts []string
	var left []string
	for _, one := range l.Left {
		left = append(left, one.Text())
	}
	if len(left) > 0 {
		parts = append(parts, strings.Join(left, "\n"))
	}
	parts = append(parts, l.Notices...)
	parts = append(parts, l.Failed...)
	var names []string
	for i := range l.Reports {
		r := &l.Reports[i]
		parts = append(parts, r.Text())
		if r.Archive != "" {
			continue // it ended already
		}
		name := cmp.Or(r.Label, r.Command)
		names = append(names, fmt.Sprintf("%d (%s)", r.Number, name))
	}
	open := "none"
	if len(names) > 0 {
		open = strings.Join(names, ", ")
	}
	parts = append(parts, fmt.Sprintf("Open terminals: %s. %d more of %d available.", open, l.Free, Max))
	return strings.Join(parts, "\n\n")
}

// Login begins a tick: it deals with what earlier ticks left, opens the startup
// terminals, and shows what they print. What fails is told in the answer: the
// agent is logged in all the same. A second call only tells how things are.
func (s *Set) Login(ctx context.Context) (Login, error) {
	var l Login
	if first := s.beginLogin(); first {
		// What is not known for sure is told, too: the agent can look.
		_, failed := s.recover(ctx, func(one Left, _ error) error { return s.left.keep(one) })
		if failed != nil {
			l.Failed = append(l.Failed, failed.Error())
		}
		l.Failed = append(l.Failed, s.openStartup(ctx)...)
		l.Notices = s.config.Notices
	}
	w := waiter{set: s, rule: waitRule{begun: time.Now(), limit: loginWait, all: true, begins: true}}
	if _, err := w.wait(ctx); err != nil {
		return l, err // what was printed is not seen: wait shows it
	}
	s.tellLeft(&l)
	l.Reports = s.report(ctx, s.open(), true)
	s.closeDead(ctx, l.Reports)
	l.Free = s.free()
	s.saveRegistry()
	return l, nil
}

// tellLeft has an answer tell what became of terminals of earlier ticks, which
// is told once.
func (s *Set) tellLeft(l *Login) {
	left, err := s.left.list()
	if err != nil {
		l.Failed = append(l.Failed, err.Error())
		s.config.Warn(err)
	}
	l.Left = left
	if err := s.left.clear(); err != nil {
		s.config.Warn(err) // it is told again
	}
}

// CloseLeft closes the terminals that earlier ticks left, without a login: for
// the kernel, when it ends a tick whose process was killed. The next login
// tells what became of them.
func (s *Set) CloseLeft(ctx context.Context) ([]Left, error) {
	left, err := s.recover(ctx, func(one Left, err error) error {
		if err != nil {
			return nil // it is found again, by the next call or at login
		}
		return s.left.keep(one)
	})
	s.saveRegistry()
	return left, err
}

// beginLogin reports whether this is the first login.
func (s *Set) beginLogin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.loggedIn
	s.loggedIn = true
	return first
}

// openStartup opens the startup terminals, and returns what failed.
func (s *Set) openStartup(ctx context.Context) (failed []string) {
	startup := slices.Clone(s.config.Startup)
	if !slices.ContainsFunc(startup, func(w Startup) bool { return w.Number == 0 }) {
		startup = append(startup, Startup{})
	}
	slices.SortStableFunc(startup, func(a, b Startup) int { return a.Number - b.Number })
	for _, w := range startup {
		if _, err := s.find(w.Number); err == nil { // one of an earlier tick, which could not be closed
			continue
		}
		_, err := s.reserve(w.Number)
		if err == nil {
			_, err = s.start(ctx, w, true)
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("Terminal %d could not be opened: %v", w.Number, err))
			s.config.Warn(err)
		}
	}
	return failed
}

// recover closes the terminals of earlier ticks, and has keep keep what became
// of each, with why that is not sure, or nil. The error tells what could not be
// read, closed or kept; what is known of a terminal is there all the same.
func (s *Set) recover(ctx context.Context, keep func(Left, error) error) (left []Left, err error) {
	known, err := s.known.load()
	errs := []error{err}
	if known == nil {
		known = map[int]entry{}
	}
	s.addUnlisted(ctx, known)
	for _, n := range slices.Sorted(maps.Keys(known)) {
		l, err := s.recoverOne(ctx, n, known[n])
		if err != nil {
			errs = append(errs, fmt.Errorf("terminal %d of an earlier tick: %w", n, err))
		}
		left = append(left, l)
		errs = append(errs, keep(l, err))
	}
	if err = errors.Join(errs...); err != nil {
		s.config.Warn(err)
	}
	return left, err
}

// addUnlisted adds sessions that run under the name of a terminal and that
// nobody listed: their tick was killed before it could.
func (s *Set) addUnlisted(ctx context.Context, known map[int]entry) {
	for n := range Max {
		found, err := s.config.Place.Find(ctx, sessionName(s.config.Name, n), s.config.Warn)
		if err != nil {
			continue // there is none
		}
		m, err := found.Dir.Inspect()
		if err != nil || !m.Status.Active() || known[n].Session == m.ID {
			continue
		}
		known[n] = entry{Command: strings.Join(m.Command, " "), Created: m.Created, Session: m.ID, Tick: s.tickOf(m)}
	}
}

// tickOf is the tick in which a session was started that nobody listed. One
// without the label is of a den that wrote none, and of the tick before.
func (s *Set) tickOf(m *home.Manifest) int {
	if n, err := strconv.Atoi(m.Labels[TickLabel]); err == nil && n > 0 && n <= s.config.Tick {
		return n
	}
	return max(s.config.Tick-1, 0)
}

// recoverOne deals with one terminal of an earlier tick.
func (s *Set) recoverOne(ctx context.Context, number int, e entry) (Left, error) {
	l := Left{Number: number, Command: e.Command, Tick: e.Tick, Became: LeftLost}
	if _, err := s.reserve(number); err != nil {
		return l, err
	}
	t := s.newTTY(number, e.Command, e.Label)
	t.created, t.tick, t.hold = e.Created, e.Tick, e.Hold
	found, err := s.config.Place.Find(ctx, e.Session, t.warn)
	if err != nil {
		s.release(number)
		if fault.KindOf(err) == fault.NotFound {
			err = nil
			s.config.Record(e.Tick, history.Terminal{
				Number: number, Command: e.Command, Label: e.Label, Session: e.Session, Opened: e.Created, Closed: time.Now(), Status: "lost",
				Note: "its session is gone, and its recording with it",
			})
		}
		return l, err
	}
	t.session = found
	status, err := found.Status(ctx)
	if err != nil {
		s.release(number)
		return l, err
	}
	if t.owner, err = s.files.retake(number, e.Tick, e.Session); err != nil {
		s.release(number)
		return l, err
	}
	if err := s.resume(ctx, t, e.Seen); err != nil {
		s.release(number)
		return l, err
	}
	s.put(t)
	s.begin(t)
	return s.closeLeft(ctx, t, l, home.Status(status.Status))
}

// closeLeft closes a terminal of an earlier tick, and says how it ended if it
// had ended before.
func (s *Set) closeLeft(ctx context.Context, t *tty, l Left, was home.Status) (Left, error) {
	l.Became = LeftClosed
	c, err := s.close(ctx, t)
	if err != nil {
		return l, err
	}
	l.Archive = c.Archive
	l.Note = strings.Join(c.Notes, "; ")
	switch {
	case was.Active():
	case was == home.Lost:
		l.Became = LeftLost
	default:
		l.Became, l.Exit = LeftExited, c.Last.Exit
	}
	return l, nil
}

// resume makes the view of a terminal from its log: what the agent had seen is
// seen.
func (s *Set) resume(ctx context.Context, t *tty, seen uint64) error {
	lines := spool{create: s.files.outputOf(t.number)}
	t.view = newView(Cols, Rows, lines)
	if seen == 0 {
		return nil
	}
	r, err := t.session.Replay(ctx, session.AtSeq(seen))
	if fault.KindOf(err) == fault.NotFound { // the log no longer goes back so far
		t.gap = errors.New("the recording no longer has what came before")
		return t.resync(ctx)
	}
	if err != nil {
		return fmt.Errorf("read the recording of terminal %d: %w", t.number, err)
	}
	t.view = viewOf(r.Terminal, seen, lines)
	t.seq, t.output, t.seen = seen, seen, seen
	return nil
}
