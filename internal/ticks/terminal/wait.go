package terminal

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/session/wire"
)

// WaitArgs are those of wait.
type WaitArgs struct {
	Timeout *int `json:"timeout,omitempty"` // seconds, at most 60; nil: 30
	Number  *int `json:"tty,omitempty"`     // wait for this terminal alone; nil: for all
	// Until is a regular expression. The wait ends when a line that the agent
	// has not seen matches it.
	Until string `json:"until,omitempty"`
	// Interrupt, or nil, ends the wait when it can be received from: a
	// notification came.
	Interrupt <-chan struct{} `json:"-"`
}

// Waited is the answer of wait.
type Waited struct {
	Reason string `json:"reason"`
	// Match is the line that matched.
	Match    string   `json:"match,omitempty"`
	Reports  []Report `json:"terminals"`
	Others   []int    `json:"others,omitempty"` // terminals with something new that were not waited for
	Duration int64    `json:"duration_ms"`
	until    string
}

// Text is the answer as the agent reads it.
func (w Waited) Text() string {
	var parts []string
	for i := range w.Reports {
		parts = append(parts, w.Reports[i].Text())
	}
	if len(w.Reports) == 0 {
		parts = append(parts, "No terminals are open.")
	}
	if end := w.ending(); end != "" {
		parts = append(parts, end)
	}
	if len(w.Others) > 0 {
		parts = append(parts, fmt.Sprintf("(something new in %s)", terminals(w.Others)))
	}
	return strings.Join(parts, "\n")
}

// ending says why the wait ended, where the reports do not.
func (w Waited) ending() string {
	took := (time.Duration(w.Duration) * time.Millisecond).Round(100 * time.Millisecond)
	switch {
	case w.Reason == ReasonInterrupted:
		return "(interrupted: a notification came)"
	case w.Reason == ReasonMatch:
		return fmt.Sprintf("(matched: %s)", shorten(w.Match))
	case w.until != "":
		return fmt.Sprintf("(nothing matched %q in %v)", w.until, took)
	case w.Reason == ReasonTimeout && !slices.ContainsFunc(w.Reports, func(r Report) bool { return r.IsNews() }):
		return fmt.Sprintf("(nothing new in %v)", took)
	}
	return ""
}

// terminals is a list of terminals for people.
func terminals(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return plural(len(numbers), "terminal") + " " + strings.Join(words, ", ")
}

// Wait waits until a program waits for input, ends, or has printed what is
// waited for, and returns what the agent has not seen. It does not wait if that
// is so already.
func (s *Set) Wait(ctx context.Context, a WaitArgs) (Waited, error) {
	if err := s.requireLogin(); err != nil {
		return Waited{}, err
	}
	w := waiter{set: s, interrupt: a.Interrupt, rule: waitRule{begun: time.Now(), limit: a.limit(), gather: s.config.Gather, until: a.Until != "", begins: true}}
	if a.Number != nil {
		t, err := s.find(*a.Number)
		if err != nil {
			return Waited{}, err
		}
		w.only = t
	}
	if a.Until != "" {
		var err error
		if w.until, err = regexp.Compile(a.Until); err != nil {
			return Waited{}, fault.Hintf(fault.Errorf(fault.Usage, "until: %w", err), `it is a regular expression: write \. and \( for a plain dot and parenthesis`)
		}
	}
	reason, err := w.wait(ctx)
	if err != nil {
		return Waited{}, err
	}
	return s.answer(ctx, w, reason, a.Until), nil
}

func (a WaitArgs) limit() time.Duration {
	if a.Timeout == nil {
		return defaultWait
	}
	return time.Duration(min(max(*a.Timeout, 0), int(maxWait/time.Second))) * time.Second
}

// answer reports what is new, closes terminals that ended, and makes all of it
// seen.
func (s *Set) answer(ctx context.Context, w waiter, reason, until string) Waited {
	r := Waited{Reason: reason, Match: w.match, until: until, Duration: time.Since(w.rule.begun).Milliseconds()}
	shown := w.targets()
	r.Reports = s.report(ctx, shown, false)
	s.closeDead(ctx, r.Reports)
	for _, t := range s.open() {
		if !slices.Contains(shown, t) && t.now().fresh {
			r.Others = append(r.Others, t.number)
		}
	}
	s.saveRegistry()
	return r
}

// found returns the line that was waited for, or "".
func (t *tty) found() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.lines.found
}

// report takes what is new of terminals. Those with news, or whose program may
// have changed, are asked what runs in them, at the same time.
func (s *Set) report(ctx context.Context, all []*tty, whole bool) []Report {
	var asking sync.WaitGroup
	for _, t := range all {
		if now := t.now(); now.live && (now.fresh || t.observe(nil).rest == working) {
			asking.Go(func() { t.ask(ctx) })
		}
	}
	asking.Wait()
	reports := make([]Report, len(all))
	for i, t := range all {
		r, err := t.take(whole && t.number == 0)
		if err != nil {
			s.config.Warn(err)
		}
		if len(r.Rows) > 0 {
			r.Screen = s.files.path(dirOf(t.number) + "/screen")
		}
		if err := s.flushStale(t); err != nil {
			s.config.Warn(err)
			r.Notes = append(r.Notes, err.Error())
		}
		reports[i] = r
	}
	return reports
}

// waiter is one call that waits.
type waiter struct {
	set       *Set
	only      *tty // or nil: all terminals
	until     *regexp.Regexp
	interrupt <-chan struct{}
	rule      waitRule
	match     string // the line that was waited for
}

// targets are the terminals that are waited for and still open.
func (w *waiter) targets() []*tty {
	all := w.set.open()
	if w.only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(t *tty) bool { return t != w.only })
}

// wait returns why it ended.
func (w *waiter) wait(ctx context.Context) (string, error) {
	var probing probers
	probed, stop := context.WithCancel(ctx)
	defer func() { stop(); probing.all.Wait() }()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	expecting := map[*tty]bool{}
	for {
		news := w.set.news() // before anything is looked at
		targets := w.targets()
		if len(targets) == 0 {
			return ReasonTimeout, nil // nothing can come
		}
		seen := make([]observed, len(targets))
		for i, t := range targets {
			if w.until != nil && !expecting[t] {
				expecting[t] = true
				if err := t.expect(w.until); err != nil {
					return "", err
				}
				defer t.expect(nil) // Best effort: forgetting reads nothing.
			}
			if seen[i] = t.observe(w.until); seen[i].matched {
				w.match = t.found()
			}
		}
		why, again := w.rule.decide(time.Now(), seen)
		if why != "" {
			return why, nil
		}
		for i, t := range targets {
			if seen[i].due && seen[i].rest == working && !seen[i].ended {
				probing.start(probed, t)
			}
		}
		timer.Reset(again)
		select {
		case <-news:
		case <-timer.C:
		case <-w.interrupt:
			return ReasonInterrupted, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// probers watch programs that work, until they are at rest.
type probers struct {
	all    sync.WaitGroup
	active sync.Map // by *tty: those that are watched
}

// start begins to watch a terminal, unless it is watched.
func (p *probers) start(ctx context.Context, t *tty) {
	if _, watched := p.active.LoadOrStore(t, true); watched {
		return
	}
	p.all.Go(func() {
		t.awaitRest(ctx)
		p.active.Delete(t)
		t.changed()
	})
}

// recheck is how often a program that works in silence is asked for.
const recheck = 500 * time.Millisecond

// awaitRest waits until the program waits for input. Where the kernel does not
// tell, or the program waits for something that may never come, silence counts.
func (t *tty) awaitRest(ctx context.Context) {
	for ctx.Err() == nil {
		now := t.now()
		wait := max(silence-now.quiet, 0)
		if wait == 0 {
			if t.isSilent(ctx, now.last) {
				return
			}
			wait = recheck
		}
		done, err := t.awaitReady(ctx, wait)
		if done {
			return
		}
		if err != nil && poll.Pause(ctx, recheck) != nil {
			return
		}
	}
}

// awaitReady waits for the program to wait for input, at most for a time. It
// reports whether nothing is left to wait for.
func (t *tty) awaitReady(ctx context.Context, limit time.Duration) (done bool, err error) {
	r, err := t.session.Wait(ctx, wire.Wait{Ready: true, Timeout: limit})
	switch {
	case err != nil:
		return fault.KindOf(err) == fault.NotRunning || errors.Is(err, context.Canceled), err
	case r.Matched:
		t.rests(r.Seq, waiting)
		return true, nil
	}
	return r.Status == wire.WaitEnded, nil
}

// isSilent notes that the program is silent, if that is all that can be known
// of it: nothing happened since an event, and the kernel does not say what it
// does, or that it waits for something from outside.
func (t *tty) isSilent(ctx context.Context, last uint64) bool {
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	f, err := t.session.Foreground(limited)
	switch {
	case fault.KindOf(err) == fault.Unsupported || fault.KindOf(err) == fault.Protocol:
		t.rests(last, silent)
		return true
	case err != nil:
		return false
	}
	t.learn(f)
	if f.Ready.State == "unknown" || f.Ready.Outside {
		if now := t.now(); now.last == last && now.quiet >= silence {
			t.rests(last, silent)
			return true
		}
	}
	return false
}

// Times of wait. What the kernel tells comes first; they are for what it does
// not tell.
const (
	// silence ends a wait for a program of which nobody knows whether it waits
	// for input.
	silence = 1500 * time.Millisecond
	// gatherLimit is how long a program that prints and goes on is listened to,
	// where nothing else is said.
	gatherLimit = 10 * time.Second
	// headStart is the same for output that the agent could have been told
	// before: it is told at once, but a program that is about to be done may end.
	headStart = 300 * time.Millisecond
	// youth is how long output counts as one that the wait was called for: an
	// agent that types and waits in one go misses the first of it.
	youth = time.Second
)

// observed is what a wait knows of one terminal.
type observed struct {
	ended   bool          // and the agent was not told
	matched bool          // what the agent waits for was printed
	due     bool          // there is output that the agent has not seen, or keystrokes whose effect it has not
	more    bool          // there is such output, besides the echo of keystrokes
	age     time.Duration // since there is
	rest    rest
}

// Why a wait ended.
const (
	ReasonExit        = "exit"        // a program ended
	ReasonMatch       = "match"       // what was waited for was printed
	ReasonReady       = "ready"       // a program waits for input
	ReasonSilence     = "silence"     // a program prints nothing more, and nobody knows whether it waits
	ReasonOutput      = "output"      // there is output, and its program goes on
	ReasonTimeout     = "timeout"     // time is up
	ReasonInterrupted = "interrupted" // a notification came
)

// waitRule decides when a wait ends. It is a pure function of what is observed
// and of time, but for when it first observed output.
type waitRule struct {
	until  bool // something is waited for
	all    bool // all terminals must be at rest, as at login
	begun  time.Time
	limit  time.Duration
	gather time.Duration // how long a program that prints and goes on is listened to

	begins bool      // nothing was observed yet
	early  bool      // there was output at the beginning, and not only just
	since  time.Time // when there was output first; or zero
}

// decide returns why the wait ends, or "" and the time after which it must
// look again if nothing happens before.
func (r *waitRule) decide(now time.Time, terminals []observed) (why string, again time.Duration) {
	has := func(f func(observed) bool) bool { return slices.ContainsFunc(terminals, f) }
	if r.since.IsZero() && has(func(o observed) bool { return o.more }) {
		r.since = now
		r.early = r.begins && has(func(o observed) bool { return o.more && o.age >= youth })
	}
	r.begins = false
	switch {
	case r.all:
		if !has(func(o observed) bool { return o.due && !o.ended && o.rest == working }) {
			return ReasonReady, 0
		}
	case has(func(o observed) bool { return o.ended }):
		return ReasonExit, 0
	case has(func(o observed) bool { return o.matched }):
		return ReasonMatch, 0
	case has(func(o observed) bool { return o.due && o.rest == waiting }):
		return ReasonReady, 0
	case !r.until && has(func(o observed) bool { return o.due && o.rest == silent }):
		return ReasonSilence, 0
	}
	end, late := r.begun.Add(r.limit), ReasonTimeout
	if gathered := r.since.Add(r.listens()); !r.until && !r.all && !r.since.IsZero() && gathered.Before(end) {
		end, late = gathered, ReasonOutput
	}
	if left := end.Sub(now); left > 0 {
		return "", left
	}
	return late, 0
}

func (r *waitRule) listens() time.Duration {
	if r.early {
		return headStart
	}
	return r.gather
}
