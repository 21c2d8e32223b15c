package host

import (
	"context"
	"time"

	"den/internal/base/wake"
	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/session/wire"
)

// syncPatience bounds how long a synchronised update hides the screen from
// waits, in case a program never ends one.
const syncPatience = 200 * time.Millisecond

// lastLines is the number of screen lines in a timeout's result.
const lastLines = 10

// waiter holds one caller's conditions. Conditions on the screen are checked
// in the pass that changed it, by that pass's goroutine. Conditions on time
// are checked by the waiter's own goroutine, when they may have become true.
type waiter struct {
	wire.Wait
	matcher *screen.Matcher
	command awaited
	begun   time.Duration
	notify  wake.Signal // check again

	// guarded by core.mu
	text      string        // canonical, at the last check
	textSince time.Duration // since when it has stood
	checked   bool
	found     string        // what text or regex matched
	recheck   time.Duration // 0, or the time until the next check
	unmet     []string
	result    *wire.WaitResult // set once
}

func newWaiter(w wire.Wait, now time.Duration) (*waiter, error) {
	m, err := screen.NewMatcher(w.Conditions())
	if err != nil {
		return nil, err
	}
	return &waiter{Wait: w, matcher: m, begun: now, notify: wake.New()}, nil
}

// view is the screen in one pass.
type view struct {
	screen.View
	c   *core
	now time.Duration
}

func (c *core) viewLocked() *view {
	return &view{View: screen.View{Terminal: c.term}, c: c, now: c.clock()}
}

// checkInterval is the least time between two checks in a flood of output. The
// first change is checked at once, the last at most this much later.
const checkInterval = time.Millisecond

// wakeLocked checks every waiter against the current screen, at most once per
// checkInterval: a check that comes too early is deferred.
func (c *core) wakeLocked() {
	if len(c.waiters) == 0 || c.checkDue {
		return
	}
	if since := c.clock() - c.lastCheck; since < checkInterval && c.lastCheck > 0 {
		c.checkDue = true
		time.AfterFunc(checkInterval-since, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.checkWaitersLocked()
		})
		return
	}
	c.checkWaitersLocked()
}

// checkWaitersLocked checks every waiter now.
func (c *core) checkWaitersLocked() {
	v := c.viewLocked()
	c.checkDue, c.lastCheck = false, v.now
	for w := range c.waiters {
		w.evaluate(v)
	}
}

// evaluate checks the conditions against one screen. When all of them hold, it
// sets the result. Readiness is not checked here but by the waiter's goroutine,
// because it needs a probe.
func (w *waiter) evaluate(v *view) {
	if w.result != nil {
		return
	}
	w.recheck = 0
	w.unmet = w.check(v)
	if len(w.unmet) == 0 && !w.Ready {
		w.finish(v, wire.WaitMatched)
	}
	w.notify.Set()
}

// check returns the names of the conditions that do not hold.
func (w *waiter) check(v *view) []string {
	c := v.c
	if left := c.frameLeftLocked(); left > 0 {
		w.recheck = left
		return []string{"end of a synchronised update"}
	}
	return w.Unmet(wire.Moment{
		Ended: c.ended != nil,
		Wrote: func(after uint64) bool { return c.OutputSeq > after },
		Screen: func(unmet []string) []string {
			w.found, unmet = w.matcher.Match(&v.View, unmet)
			return unmet
		},
		Idle:   func(d time.Duration) bool { return w.quietFor(v, d, max(c.LastOutput, c.LastInput)) },
		Stable: func(d time.Duration) bool { return w.quietFor(v, d, w.standsSince(v)) },
	})
}

// standsSince returns when the visible text last changed. Before the waiter's
// first check only the time of the last output is known; the text has
// certainly not changed since. Input counts as a change, because one is
// expected.
func (w *waiter) standsSince(v *view) time.Duration {
	text := v.Text()
	if !w.checked {
		w.checked, w.text, w.textSince = true, text, v.c.LastOutput
	} else if text != w.text {
		w.text, w.textSince = text, v.now
	}
	return max(w.textSince, v.c.LastInput)
}

func (w *waiter) quietFor(v *view, d, since time.Duration) bool {
	left := since + d - v.now
	if left <= 0 {
		return true
	}
	w.recheck = max(w.recheck, left)
	return false
}

func (w *waiter) finish(v *view, status string) {
	w.result = &wire.WaitResult{
		Status:     status,
		Matched:    status == wire.WaitMatched,
		Seq:        v.c.log.Position().Seq,
		ScreenHash: screen.Hash(v.Text()),
		ElapsedMS:  (v.now - w.begun).Milliseconds(),
	}
	if status == wire.WaitMatched {
		v.c.Told = v.c.Inputs
		w.result.Text = w.found
	} else {
		w.result.Unmet = w.unmet
		w.result.LastLines = screen.LastLines(v.Text(), lastLines)
	}
	if v.c.ended != nil {
		code := v.c.ended.Code
		w.result.ExitCode, w.result.ExitSignal = &code, v.c.ended.Signal
	}
}

// wait blocks until the conditions hold, the timeout passes, the session ends,
// or the caller disconnects.
func (h *Host) wait(ctx context.Context, req wire.Wait) (*wire.WaitResult, error) {
	c := h.core
	w, err := newWaiter(req, c.clock())
	if err != nil {
		return nil, err
	}
	w.command = h.beginAwaited(req)
	c.mu.Lock()
	c.waiters[w] = struct{}{}
	w.evaluate(c.viewLocked())
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiters, w)
		c.mu.Unlock()
	}()
	return h.await(ctx, w)
}

func (h *Host) await(ctx context.Context, w *waiter) (*wire.WaitResult, error) {
	var deadline <-chan time.Time
	if w.Timeout > 0 {
		t := time.NewTimer(w.Timeout)
		defer t.Stop()
		deadline = t.C
	}
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	again.Stop()
	ready := h.newReadyCheck()
	for {
		select {
		case <-w.notify:
		case <-again.C:
		case <-deadline:
			return h.conclude(w, wire.WaitTimeout), nil
		case <-h.upgrading:
			return h.conclude(w, wire.WaitUpgrade), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		state := h.reevaluate(w)
		if state.result != nil {
			return state.result, nil
		}
		if state.ended {
			return h.conclude(w, wire.WaitEnded), nil
		}
		if exit, over := h.commandOver(w.command, state.unmet); over {
			if state = h.reevaluate(w); state.result != nil { // all that it printed is on the screen now
				return state.result, nil
			}
			r := *h.conclude(w, wire.WaitCommandEnded)
			r.ExitCode = exit
			return &r, nil
		}
		pause := state.recheck
		if w.Ready && len(state.unmet) == 0 {
			if ready.seen(state.activity) && h.confirm(w, state.activity) {
				continue // the result is set; the token lies there
			}
			pause = ready.backoff()
		}
		if w.command.wanted && w.command.ran {
			pause = shorter(pause, commandPause)
		}
		if pause > 0 {
			again.Reset(pause)
		}
	}
}

// waitState is what a waiter's goroutine needs to decide what to do next.
type waitState struct {
	result   *wire.WaitResult
	ended    bool
	unmet    []string
	recheck  time.Duration
	activity uint64
}

// reevaluate checks the conditions again after time has passed, and returns the
// waiter's state.
func (h *Host) reevaluate(w *waiter) waitState {
	c := h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.result == nil {
		v := c.viewLocked()
		w.recheck = 0
		w.unmet = w.check(v)
		if len(w.unmet) == 0 && !w.Ready {
			w.finish(v, wire.WaitMatched)
		}
	}
	return waitState{result: w.result, ended: c.ended != nil, unmet: w.unmet, recheck: w.recheck, activity: c.Activity}
}

// confirm sets the result of a readiness wait unless something happened since
// the probe.
func (h *Host) confirm(w *waiter, activity uint64) bool {
	c, canonical := h.core, h.lineMode()
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.viewLocked()
	if c.Activity != activity || len(w.check(v)) > 0 {
		return false
	}
	c.restedLocked(canonical)
	w.finish(v, wire.WaitMatched)
	w.notify.Set()
	return true
}

// conclude ends a wait that did not match.
func (h *Host) conclude(w *waiter, status string) *wire.WaitResult {
	c := h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.result == nil {
		v := c.viewLocked()
		w.unmet = w.check(v)
		if w.Ready && len(w.unmet) == 0 {
			w.unmet = []string{"ready"}
		}
		w.finish(v, status)
	}
	return w.result
}

// maxFrames bounds how many synchronised updates a snapshot waits for: a
// program may begin the next one in the moment that one ends.
const maxFrames = 5

// snapshot captures the screen between two synchronised updates.
func (h *Host) snapshot(ctx context.Context, scrollback int) (shot wire.Snapshot, err error) {
	err = h.betweenFrames(ctx, func(t *vt.Terminal, seq uint64) {
		shot = wire.Snapshot{Seq: seq, Screen: screen.Capture(t, scrollback)}
	})
	return shot, err
}

// plainSnapshot is snapshot for the text alone.
func (h *Host) plainSnapshot(ctx context.Context) (shot wire.PlainSnapshot, err error) {
	err = h.betweenFrames(ctx, func(t *vt.Terminal, seq uint64) {
		shot = wire.PlainSnapshot{Seq: seq, Screen: screen.CapturePlain(t)}
	})
	return shot, err
}

// betweenFrames calls take once, with the screen between two synchronised
// updates. It waits for a bounded time.
func (h *Host) betweenFrames(ctx context.Context, take func(t *vt.Terminal, seq uint64)) error {
	end := time.Now().Add(maxFrames * syncPatience)
	for h.core.look(time.Now().After(end), take) {
		// A wait without conditions ends with the update.
		if _, err := h.wait(ctx, wire.Wait{Timeout: syncPatience}); err != nil {
			return err
		}
	}
	return nil
}
