package tick

import (
	"context"
	"path/filepath"

	dirs "den/internal/conversation/watch"
	"den/internal/fault"
	"den/internal/kernel/datarepo"
	"den/internal/kernel/plan"
	"den/internal/kernel/watch"
)

// Watch runs ticks when there is a cause, until ctx ends. A second watcher of
// the instance is fault.Busy, and the error says who is the first.
func Watch(ctx context.Context, o Options, p watch.Policy, ended func(Result)) error {
	lock, err := o.Dir.LockWatch(o.holder())
	if err != nil {
		return err
	}
	defer lock.Close() // Best effort: the kernel releases it with the process.
	if _, err := o.Dir.LoadMemory(o.Clock()); err != nil {
		if fault.KindOf(err) != fault.Storage {
			return err
		}
		o.Log.Error("how the last ticks ended is not known", "error", err)
	}
	r, found, err := Complete(o)
	switch {
	case fault.KindOf(err) == fault.Busy: // a tick by hand runs: it is waited for
	case err != nil:
		return err
	case found:
		ended(r)
		if err := o.Remember(r, p); err != nil {
			return err
		}
	}
	changes, err := dirs.OpenDir(filepath.Join(o.Repo.Path(), datarepo.System), filepath.Join(o.Repo.Path(), datarepo.InboxDir), o.Dir.Path)
	if err != nil {
		return err
	}
	defer changes.Close() // Best effort: nothing is read from it any more.
	w := watcher{o: o, told: map[string]bool{}, ended: ended}
	watch.Loop(ctx, watch.Options{
		Policy: p, Look: func() watch.Observed { return w.look(ctx) }, Changed: changes.Events(), Tick: w.tick,
		Recall: o.Dir.PeekMemory, Remember: o.Dir.SaveMemory, Told: func(s string) { o.Log.Info("watch: " + s) }, Clock: o.Clock,
	})
	return nil
}

// watcher is what a watch remembers while it runs.
type watcher struct {
	o     Options
	told  map[string]bool // problems
	ended func(Result)
}

func (w *watcher) look(ctx context.Context) watch.Observed {
	seen, err := w.o.Look(ctx, w.o.Clock())
	if err != nil && ctx.Err() == nil && !w.told[err.Error()] {
		w.told = map[string]bool{err.Error(): true}
		w.o.Log.Warn("not all that may begin a tick can be read", "error", err)
	}
	return seen
}

func (w *watcher) tick(ctx context.Context, causes []plan.Cause) (plan.Outcome, bool) {
	r, err := Run(ctx, w.o, causes)
	switch {
	case fault.KindOf(err) == fault.Busy:
		return plan.Outcome{}, true
	case err != nil:
		w.o.Log.Error("no tick could be begun", "error", err)
		if _, nerr := w.o.Repo.NotifyCrash(ctx, w.o.Clock(), datarepo.Crash{Text: withHint(err)}); nerr != nil {
			w.o.Log.Error("leave a note of the failure", "error", nerr)
		}
		return plan.Outcome{Reason: plan.Crashed, Why: withHint(err)}, false
	}
	w.ended(r)
	return r.Outcome, false
}
