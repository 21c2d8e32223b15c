package subprocess

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/provider/inotify"
)

// Watch tells of starts and ends, also of sessions that others start. It goes
// by the locks: a shim counts its start there, and the kernel tells when one is
// let go of, however its shim ended. When the locks can no longer be looked at,
// the channel is closed early.
func (p *Provider) Watch(ctx context.Context) (<-chan provider.Event, error) {
	src, err := watchLocks(p.root.locks())
	if err != nil {
		return nil, err
	}
	w := &watch{locks: p.root.locks(), begun: map[string]int{}, told: map[string]int{}}
	if err := w.begin(p); err != nil {
		src.close()
		return nil, err
	}
	events := make(chan provider.Event) // unbuffered: what waits is in pending
	go w.run(ctx, src, events)
	return events, nil
}

// lockSource tells of locks that have changed, until it is closed.
type lockSource struct {
	changed <-chan []inotify.Event
	close   func()
}

// watch is one call of Watch. Its goroutine owns it, and ends with the
// context.
type watch struct {
	locks   string
	begun   map[string]int // by the lock's file name: the last start that was told
	told    map[string]int // and the last whose end was
	pending provider.EventQueue
}

// begin takes what has ended before the call for told: also a command whose
// shim is not yet gone.
func (w *watch) begin(p *Provider) error {
	files, err := w.files()
	if err != nil {
		return err
	}
	for _, file := range files {
		l, err := readLock(filepath.Join(w.locks, file))
		if err != nil {
			return err
		}
		w.begun[file], w.told[file] = l.starts, l.ended()
		if !l.held || l.name == "" {
			continue
		}
		s, err := p.inspect(l.name)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
		if err == nil && !s.running() && s.record.Starts == l.starts {
			w.told[file] = l.starts
		}
	}
	return nil
}

func (w *watch) files() ([]string, error) {
	entries, err := os.ReadDir(w.locks)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "watch sessions: %w", err)
	}
	files := make([]string, len(entries))
	for i, e := range entries {
		files[i] = e.Name()
	}
	return files, nil
}

// run passes events on until the context is over.
func (w *watch) run(ctx context.Context, src *lockSource, out chan<- provider.Event) {
	defer close(out)
	defer src.close()
	for {
		to, next := w.pending.Next(out)
		select {
		case to <- next:
			w.pending.Sent()
		case events, ok := <-src.changed:
			if !ok || w.changed(ctx, events) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// changed refreshes the locks that events are about, or all of them where news
// were lost.
func (w *watch) changed(ctx context.Context, events []inotify.Event) error {
	for _, e := range events {
		switch {
		case e.Lost:
			return w.refreshAll()
		case e.Name == "": // of the directory itself
		default:
			if err := w.awaitRelease(ctx, e.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *watch) refreshAll() error {
	files, err := w.files()
	for _, file := range files {
		_, _, lerr := w.refresh(file)
		err = errors.Join(err, lerr)
	}
	return err
}

// releaseLimit bounds the waiting at a lock that is said to be let go of and is held
// all the same: it is free within microseconds, unless it was somebody else
// who closed its file.
const releaseLimit = time.Second

// awaitRelease refreshes until the lock is free, or its session was started anew.
func (w *watch) awaitRelease(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	err := poll.Every(ctx, longestPause, func() (bool, error) {
		held, news, err := w.refresh(file)
		return !held || news, err
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// refresh notes the start and the end of a session, where there was one.
func (w *watch) refresh(file string) (held, news bool, err error) {
	l, err := readLock(filepath.Join(w.locks, file))
	if err != nil {
		return l.held, false, err
	}
	if l.starts > w.begun[file] {
		w.begun[file], news = l.starts, true
		w.pending.Add(provider.Event{Name: l.name, Change: provider.Started})
	}
	if l.ended() > w.told[file] {
		w.told[file], news = l.ended(), true
		w.pending.Add(provider.Event{Name: l.name, Change: provider.Ended})
	}
	return l.held, news, nil
}
