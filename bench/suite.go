package main

import (
	"errors"
	"fmt"
	"time"
)

// pick returns what a suite takes: quick only when it must be quick.
func pick[T any](b *bench, usual, quick T) T {
	if b.quick {
		return quick
	}
	return usual
}

// rounds is how often a suite repeats.
func (b *bench) rounds(usual, quick int) int { return pick(b, usual, quick) }

// inHome makes a suite of what needs a Home of its own.
func inHome(run func(*bench, *denHome) error) func(*bench) error {
	return func(b *bench) (err error) {
		home, err := b.newHome()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, home.close()) }()
		return run(b, home)
	}
}

// besideTmux makes a suite of what needs a tmux beside its Home: nil where there
// is none.
func besideTmux(run func(*bench, *denHome, *tmuxServer) error) func(*bench) error {
	return inHome(func(b *bench, home *denHome) (err error) {
		tmux, err := b.newTmux()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, tmux.close()) }()
		return run(b, home, tmux)
	})
}

// A lane is what one contestant does again and again, and the line with its
// samples.
type lane struct {
	line *series
	run  func() (float64, error)
}

// race takes samples by turns, each round in a calm moment.
func (b *bench) race(rounds int, lanes ...lane) error {
	for range rounds {
		b.calm.await()
		for _, l := range lanes {
			sample, err := l.run()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", l.line.Case, l.line.Who, err)
			}
			l.line.add(sample)
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// warmRace is race behind a round that does not count: it fills caches.
func (b *bench) warmRace(rounds int, lanes ...lane) error {
	if err := b.race(1, lanes...); err != nil {
		return err
	}
	for _, l := range lanes {
		l.line.Values = nil
	}
	return b.race(rounds, lanes...)
}

// took makes samples of what is done: the milliseconds that it takes.
func took(do func() error) func() (float64, error) {
	return func() (float64, error) {
		begun := time.Now()
		err := do()
		return msSince(begun), err
	}
}

func msSince(begun time.Time) float64 { return float64(time.Since(begun).Microseconds()) / 1000 }
