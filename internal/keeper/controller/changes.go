package controller

import (
	"context"
	"fmt"
	"time"

	"den/internal/keeper"
)

// noteChanges notes what happened without us: an agent that came up, or went.
func (w *worker) noteChanges(ctx context.Context, s observed) {
	now := w.c.clock()
	m := w.forgetChanged()
	stable := w.rules().stableAfter(m)
	switch {
	case !s.known:
		w.event(keeper.EventUnknown, s.problem, nil)
	case s.partial: // not up yet
	case s.running && !m.Up:
		w.remember(func(m *memory) {
			m.Up = true
			if m.Started.IsZero() {
				m.Started = now
			}
		})
		w.event(keeper.EventAdopted, "it was running", nil)
	case s.running && m.Failures > 0 && now.Sub(m.Started) >= stable:
		w.remember((*memory).forgive)
	case s.running && m.Stalled && s.activity.After(m.Active):
		w.remember(func(m *memory) { m.Stalled, m.Active = false, s.activity })
	case !s.running && m.Up:
		w.died(ctx, m, now)
	case !s.running:
		w.leavePlace(ctx, m)
	}
}

// forgetChanged forgets the failures and the final end of an agent that is not
// that one any more: who mends the workspace's file does not wait for a
// quarantine to end. An agent that is not to run has not finished either: when
// it is wanted again, it starts.
func (w *worker) forgetChanged() memory {
	w.mu.Lock()
	m, is, wanted := w.memory, w.next.Identity(), w.desired.run
	w.mu.Unlock()
	if m.Finished != "" && (m.Finished != is || !wanted) {
		m = w.remember(func(m *memory) { m.Finished = "" })
	}
	if m.FailedAs != "" && m.FailedAs != is {
		m = w.remember((*memory).forgive)
	}
	return m
}

// leavePlace turns to where the agent should be, once nothing is left of it
// where it was.
func (w *worker) leavePlace(ctx context.Context, m memory) {
	w.mu.Lock()
	moves := !samePlace(w.subject, w.next)
	w.mu.Unlock()
	if moves && m.Left && !w.clean(ctx) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subject = w.next
}

// died notes an end that nobody here asked for.
func (w *worker) died(ctx context.Context, m memory, now time.Time) {
	detail, code, place := w.forensics(ctx)
	detail["ran_ms"] = now.Sub(m.Started).Milliseconds()
	wanted, is, rules, chance := w.wantsRun(), w.sub().Identity(), w.rules(), w.c.jitter()
	quarantined := false
	m = w.remember(func(m *memory) {
		counts := wanted && !m.RestartAsked
		m.Up, m.Left, m.Drain, m.Stalled, m.RestartAsked, m.Started, m.ExitCode = false, true, nil, false, false, time.Time{}, code
		switch {
		case counts && place != "":
			m.Restarts++ // at once, and it is no failure
		case counts && rules.Restart.final(code):
			m.finish(is, code)
		case counts:
			m.Restarts++
			quarantined = m.failed(ending(code), is, rules, now, chance)
			text, _ := detail["screen"].(string)
			m.LastOutput = lastLines(text)
		}
	})
	w.event(keeper.EventExited, "its command ended", detail)
	if quarantined {
		w.event(keeper.EventQuarantined, "it failed too often", map[string]any{"until": m.QuarantinedUntil})
	}
}

// ending is a dead agent's end in short.
func ending(code *int) string {
	if code == nil {
		return "it ended"
	}
	return fmt.Sprintf("it ended with status %d", *code)
}

// forensics collects what is left of a dead agent: its last screen, and how it
// ended. code is nil where that is not known, place is why its place ended it.
func (w *worker) forensics(ctx context.Context) (detail map[string]any, code *int, place string) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	sub := w.sub()
	detail = map[string]any{"session": sub.Session()}
	if exit, err := sub.Exit(ctx); err == nil && exit != nil {
		code = &exit.Code
		detail["exit_code"] = exit.Code
		if exit.Signal != "" {
			detail["signal"] = exit.Signal
		}
		if place = exit.Place; place != "" {
			detail["place"] = place
		}
	}
	if screen, err := sub.LastText(ctx, forensicLines); err == nil {
		detail["screen"] = screen
	} else {
		detail["screen_missing"] = err.Error()
	}
	return detail, code, place
}
