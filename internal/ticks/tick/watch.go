package tick

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	dirs "den/internal/agent/conversation/watch"
	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
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
	w := watcher{o: o, policy: p, ended: ended}
	if err := w.complete(); err != nil {
		return err
	}
	changes, err := dirs.OpenDir(filepath.Join(o.Repo.Path(), datarepo.System), filepath.Join(o.Repo.Path(), datarepo.InboxDir), o.Dir.Path)
	if err != nil {
		return err
	}
	defer changes.Close() // Best effort: nothing is read from it any more.
	watch.Loop(ctx, watch.Options{
		Policy: p, Look: func() watch.Observed { return w.look(ctx) }, Changed: changes.Events(), Tick: w.tick,
		Recall: w.recall, Remember: o.Dir.SaveMemory, Told: func(s string) { o.Log.Info("watch: " + s) }, Clock: o.Clock,
	})
	return nil
}

// watcher is what a watch remembers while it runs.
type watcher struct {
	o          Options
	policy     watch.Policy
	ended      func(Result)
	incomplete string  // why a tick that was cut off could not be completed, as it was told
	problem    problem // of the last look
}

// problem is what is wrong with the files of an instance.
type problem struct {
	text  string // or "": nothing
	since time.Time
	noted bool
}

// defaultLasting is for how long something must be wrong before it counts: agents
// and their tools write files in place.
const defaultLasting = 2 * time.Second

// recall reads how the last ticks ended. One of another process that was killed
// meanwhile is completed first.
func (w *watcher) recall() (watch.Memory, error) {
	err := w.complete()
	text := ""
	if err != nil {
		text = withHint(err)
	}
	if text != "" && text != w.incomplete {
		w.o.Log.Error("a tick that was cut off cannot be completed yet", "error", text)
	}
	w.incomplete = text
	return w.o.Dir.PeekMemory()
}

// complete does what is left of a tick whose process was killed. One that runs
// is left alone.
func (w *watcher) complete() error {
	last, found, err := w.o.Dir.PeekTick()
	if err == nil && (!found || last.Stage == plan.New || last.Stage == plan.Done) {
		return nil
	}
	r, found, err := Complete(w.o)
	switch {
	case fault.KindOf(err) == fault.Busy || err == nil && !found:
		return nil
	case err != nil:
		return err
	}
	w.ended(r)
	return w.o.Remember(r, w.policy)
}

// look reads what may begin a tick. A tick that could not begin because of the
// configuration is not begun: it waits for the configuration, and not for a
// rest.
func (w *watcher) look(ctx context.Context) watch.Observed {
	seen, err := w.o.Look(ctx, w.o.Clock())
	if ctx.Err() != nil {
		return seen
	}
	blocked := error(nil)
	if seen.Problem == "" && seen.Paused == "" && seen.Held == "" && len(seen.Causes) > 0 {
		blocked = w.configured()
	}
	switch {
	case blocked != nil:
		if wait := w.wrong(ctx, datarepo.Crash{Text: withHint(blocked)}); wait > 0 {
			return watch.Observed{NextWake: w.o.Clock().Add(wait)} // it may be being written
		}
		seen.Problem = withHint(blocked)
	case err != nil:
		if wait := w.wrong(ctx, datarepo.Crash{Text: "Not all that may begin a tick can be read: " + withHint(err), Beside: true}); wait > 0 {
			soon := w.o.Clock().Add(wait)
			if seen.NextWake.IsZero() || soon.Before(seen.NextWake) {
				seen.NextWake = soon
			}
		}
	default:
		w.problem = problem{}
	}
	return seen
}

// configured returns why no tick could begin, whatever its cause.
func (w *watcher) configured() error {
	config, err := w.o.Repo.Config()
	if err != nil {
		return err
	}
	if _, err := w.o.Lodge(config); fault.KindOf(err) == fault.Usage {
		return err
	}
	return nil // what else may be wrong passes by itself, and is the tick's to tell
}

// wrong notes that something is wrong. Once it has lasted it is told, and left
// as a note for the agent's tools; before, wrong returns when to look again.
func (w *watcher) wrong(ctx context.Context, c datarepo.Crash) (wait time.Duration) {
	if c.Text != w.problem.text {
		w.problem = problem{text: c.Text, since: time.Now()}
	}
	lasting := cmp.Or(w.o.Times.Lasting, defaultLasting)
	if age := time.Since(w.problem.since); age < lasting {
		return lasting - age
	}
	if !w.problem.noted {
		w.problem.noted = true
		w.o.Log.Warn(c.Text)
		w.note(ctx, c)
	}
	return 0
}

func (w *watcher) note(ctx context.Context, c datarepo.Crash) {
	if _, err := w.o.Repo.NotifyCrash(ctx, w.o.Clock(), c); err != nil {
		w.o.Log.Error("leave a note of the failure", "error", err)
	}
}

func (w *watcher) tick(ctx context.Context, causes []plan.Cause) (plan.Outcome, bool) {
	r, err := Run(ctx, w.o, causes)
	switch {
	case fault.KindOf(err) == fault.Busy:
		return plan.Outcome{}, true
	case err != nil:
		w.o.Log.Error("no tick could be begun", "error", err)
		w.note(ctx, datarepo.Crash{Text: withHint(err)})
		return plan.Outcome{Reason: plan.Crashed, Why: withHint(err)}, false
	}
	w.ended(r)
	return r.Outcome, false
}
