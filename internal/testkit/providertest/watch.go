package providertest

import (
	"context"
	"maps"
	"slices"
	"time"

	"den/internal/place/provider"
)

// WatchEnds is Watch for tests that are about ends alone.
func WatchEnds(ctx context.Context, w provider.Provider) (<-chan string, error) {
	events, err := w.Watch(ctx)
	if err != nil {
		return nil, err
	}
	ends := make(chan string, 1024) // more than any test makes: the goroutine always ends
	go func() {
		defer close(ends)
		for e := range events {
			if e.Change == provider.Ended {
				ends <- e.Name
			}
		}
	}()
	return ends, nil
}

// changes receives events until so many ends were told, and returns the starts
// and ends of each session.
func (w *world) changes(events <-chan provider.Event, ends int) map[string][]provider.Change {
	w.Helper()
	got := map[string][]provider.Change{}
	for timeout := time.After(w.h.Patience); ends > 0; {
		select {
		case e, open := <-events:
			if !open {
				w.Fatalf("the channel is closed after %v", got)
			}
			if e.Change != provider.Started && e.Change != provider.Ended {
				continue
			}
			got[e.Name] = append(got[e.Name], e.Change)
			if e.Change == provider.Ended {
				ends--
			}
		case <-timeout:
			w.Fatalf("told of %v, and of %d ends not", got, ends)
		}
	}
	return got
}

func watch(w *world) {
	w.start("before", "exit", "0")
	w.ends("before")
	w.start("runs", "idle")
	w.start("stopped", "idle")
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	events, err := w.p.Watch(ctx)
	w.ok("Watch", err)
	again := w.opened(w.h.Reopen(w.T, w.p))
	c, _ := w.config("exit", "0")
	w.startConfig(again, "started-elsewhere", c)
	w.startConfig(w.p, "at-once", w.command("/bin/true"))
	w.fails("Start of what cannot be executed", w.p.Start(ctx, "never-ran", w.command("/no/such/program")))
	w.startOn(again, "killed", "die", "9")
	w.ok("Stop", again.Stop(ctx, "stopped"))
	// Nobody has received yet: a slow receiver loses nothing.
	both := []provider.Change{provider.Started, provider.Ended}
	want := map[string][]provider.Change{"at-once": both, "killed": both, "started-elsewhere": both, "stopped": {provider.Ended}}
	if got := w.changes(events, len(want)); !maps.EqualFunc(got, want, slices.Equal) {
		w.Errorf("told of %v, want %v", got, want)
	}
	w.start("at-once", "exit", "0") // a name can end twice
	if got := w.changes(events, 1); !slices.Equal(got["at-once"], both) {
		w.Errorf("of a second life told %v", got)
	}
	w.equal("running after it was told of an end", w.running(w.p, "at-once"), false)
	w.start("comes-up", "idle")
	w.equal("told of, while it runs", received(w, "a start is told", events), provider.Event{Name: "comes-up", Change: provider.Started})
	cancel()
	select {
	case e, open := <-events:
		if open {
			w.Errorf("told of %v, which did not happen", e)
		}
	case <-time.After(w.h.Patience):
		w.Error("the channel is not closed when the context has ended")
	}
}

func observe(w *world) {
	all := func(prefix string) map[string]provider.Observation {
		w.Helper()
		got, err := w.p.Observe(w.Context(), prefix)
		w.ok("Observe", err)
		return got
	}
	if got := all(""); len(got) > 0 {
		w.Errorf("where nothing was started: %v", got)
	}
	w.start("w-runs", "idle")
	w.start("w-ended", "exit", "3")
	w.start("other", "idle")
	w.ends("w-ended")
	odd := "a \"b\" $c\n\xff"
	w.ok("SetMeta", w.p.SetMeta(w.Context(), "w-runs", "k.1", odd))
	w.ok("SetMeta", w.p.SetMeta(w.Context(), "w-ended", "k", ""))
	got := all("w-")
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"w-ended", "w-runs"}) {
		w.Fatalf("Observe(\"w-\") is of %q", names)
	}
	runs, ended := got["w-runs"], got["w-ended"]
	if !runs.Running || runs.Exit != nil || runs.Meta["k.1"] != odd || len(runs.Meta) != 1 {
		w.Errorf("of a running session: %+v", runs)
	}
	if ended.Running || ended.Exit == nil || ended.Exit.Code != 3 || len(ended.Meta) > 1 {
		w.Errorf("of an ended session: %+v (exit %+v)", ended, ended.Exit)
	}
	w.stop("w-runs")
	if o := all("")["w-runs"]; o.Running {
		w.Errorf("of a stopped session: %+v", o)
	}
}
