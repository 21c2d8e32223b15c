package controller

import (
	"context"
	"errors"
)

// observe asks all that the rule wants to know.
func (w *worker) observe(ctx context.Context) observed {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	w.mu.Lock()
	sub, next, p, want, draining, up := w.subject, w.next, w.policy, w.desired, w.memory.Drain != nil, w.memory.Up
	w.mu.Unlock()
	running, err := sub.Running(ctx)
	if err != nil {
		return observed{problem: err.Error()}
	}
	s := observed{known: true, running: running}
	if !running {
		return s
	}
	if !up {
		if s.partial, err = sub.StartUnfinished(ctx); err != nil {
			return observed{problem: err.Error()}
		}
	}
	if s.partial {
		return s // what else there is to know, its start tells
	}
	s.drift, err = drift(ctx, sub, next)
	if want.run && (len(s.drift) > 0 || p.IdleTimeout > 0 || p.StallRestart) {
		var herr error
		s.held, herr = sub.Held(ctx)
		err = errors.Join(err, herr)
	}
	if draining {
		var derr error
		s.drained, derr = sub.Drained(ctx)
		err = errors.Join(err, derr)
	}
	if p.IdleTimeout > 0 || p.StallTimeout > 0 {
		s.activity, _ = sub.Activity(ctx) // zero: not known
	}
	if p.StallTimeout > 0 {
		s.ready = sub.Ready(ctx)
	}
	if err != nil {
		return observed{problem: err.Error()}
	}
	return s
}

// drift also sees an agent that should run in another place.
func drift(ctx context.Context, sub, next Subject) ([]string, error) {
	switch {
	case next.Place() != sub.Place():
		return []string{"provider"}, nil
	case next.Session() != sub.Session():
		return []string{"session name"}, nil
	}
	return next.Drift(ctx)
}
