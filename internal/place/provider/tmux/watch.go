package tmux

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/wake"
	"den/internal/place/provider"
)

// deathPrefix begins the name that a session's window gets when its command
// ends: of all that a hook can do, a rename is what tmux tells every client in
// control mode at once, whatever session the client is in.
const deathPrefix = "den-ended:"

// awayPause is between two refreshes for a server after the last one went;
// missedPause between two refreshes for commands whose end tmux missed.
const (
	awayPause   = 50 * time.Millisecond
	missedPause = 250 * time.Millisecond
)

// deathHook is the hook that runs when a pane of the session ends. A person may
// have opened others: only the command's own counts. Who is attached goes.
// tmux tells nobody of what a hook itself does, so the hook has it done.
func (p *Provider) deathHook(name, start string) string {
	target := "=" + p.tmuxName(name)
	do := sequence(
		command("run-shell", "-b", "-C", command("rename-window", "-t", target+":", deathPrefix+start+":"+p.tmuxName(name))),
		command("detach-client", "-s", target))
	return command("if-shell", "-F", "#{==:#{hook_pane},#{@den-pane}}", do)
}

// watcher follows one owner's sessions by a client of its own. Its
// run is the only one to use the fields above mu.
type watcher struct {
	p       *Provider
	client  *client         // or nil, while there is no server
	running map[string]pane // by start: every session that ran at the last refresh
	over    map[string]bool // starts that are known to be over
	late    bool            // at the last tick there was an end that tmux did not know of
	pending provider.EventQueue

	news   wake.Signal // has room for one token: look at the fields below
	mu     sync.Mutex  // guards the fields below
	deaths map[string]string
	relist bool
}

// Watch hears of starts and ends from the server's notifications, not by
// asking. When the server goes, all that ran has ended; when it comes back,
// Watch goes on.
func (p *Provider) Watch(ctx context.Context) (<-chan provider.Event, error) {
	w := &watcher{p: p, running: map[string]pane{}, over: map[string]bool{}, deaths: map[string]string{}, news: wake.New()}
	var err error
	if w.client, err = p.reach(ctx, true, w.onNotification); err != nil {
		return nil, err
	}
	if err := w.refresh(ctx, true); err != nil {
		w.client.close()
		return nil, err
	}
	out := make(chan provider.Event) // unbuffered: what is not taken yet is pending
	go func() {
		defer close(out)
		w.run(ctx, out)
	}()
	return out, nil
}

// onNotification is called for every notification, by the client's reader and by
// its callers.
func (w *watcher) onNotification(line string) {
	word, rest, _ := strings.Cut(line, " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch word {
	case "%window-renamed", "%unlinked-window-renamed":
		_, title, _ := strings.Cut(rest, " ")
		start, name, ok := strings.Cut(strings.TrimPrefix(title, deathPrefix), ":")
		if !ok || !strings.HasPrefix(title, deathPrefix) {
			return
		}
		w.deaths[start] = name
	case "%sessions-changed", "%window-close", "%unlinked-window-close":
		w.relist = true
	default:
		return
	}
	w.news.Set()
}

func (w *watcher) run(ctx context.Context, out chan<- provider.Event) {
	defer func() {
		if w.client != nil {
			w.client.close()
		}
	}()
	missed := time.NewTicker(missedPause)
	defer missed.Stop()
	for ctx.Err() == nil {
		to, next := w.pending.Next(out)
		var lost <-chan struct{}
		var again <-chan time.Time
		if w.client != nil {
			lost = w.client.ended
		} else {
			again = time.After(awayPause)
		}
		select {
		case to <- next:
			w.pending.Sent()
		case <-w.news:
			w.digest(ctx)
		case <-lost:
			w.client.close() // it has ended: this closes our side of the pipe
			w.client = nil
			w.digest(ctx)
			w.reconnect(ctx)
		case <-again:
			w.reconnect(ctx)
		case <-missed.C:
			w.collectMissed(ctx)
		case <-ctx.Done():
		}
	}
}

// collectMissed sees to ends that tmux did not tell of: it missed them, and tells when
// it is told to look; or somebody closed a pane under its command.
func (w *watcher) collectMissed(ctx context.Context) {
	again := w.late
	w.late = pokeServer(slices.Collect(maps.Values(w.running)), again)
	if w.late && again && w.client != nil {
		_ = w.refresh(ctx, false) // As in digest.
	}
}

// digest takes in what was heard.
func (w *watcher) digest(ctx context.Context) {
	w.mu.Lock()
	deaths, relist := w.deaths, w.relist
	w.deaths, w.relist = map[string]string{}, false
	w.mu.Unlock()
	for start, tmuxName := range deaths {
		if enc, mine := strings.CutPrefix(tmuxName, w.p.prefix); mine {
			if name, ok := decode(enc); ok {
				w.tell(start, name)
			}
		}
	}
	if relist && w.client != nil {
		// A look that fails is made up for by the next: the client that could
		// not be asked is about to end.
		_ = w.refresh(ctx, false)
	}
}

// reconnect looks for the server. Where there is none, all sessions are over.
func (w *watcher) reconnect(ctx context.Context) {
	c, err := w.p.reach(ctx, false, w.onNotification)
	switch {
	case err == nil:
		w.client = c
		_ = w.refresh(ctx, false) // As in digest.
	case errors.Is(err, errNoServer):
		for start, one := range w.running {
			w.tell(start, one.name)
		}
	}
}

// refresh compares what runs with what ran. What has ended at the first look
// ended before anybody watched.
func (w *watcher) refresh(ctx context.Context, first bool) error {
	lines, err := w.p.askOnce(ctx, w.client, command("list-panes", "-a", "-F", paneFields), readSequence)
	if err != nil {
		return err
	}
	all, err := w.p.mine(lines)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, one := range all {
		listed[one.start] = true
		switch {
		case !one.ended() && !w.over[one.start]:
			if _, known := w.running[one.start]; !known && !first {
				w.pending.Add(provider.Event{Name: one.name, Change: provider.Started})
			}
			w.running[one.start] = one
		case one.ended() && first:
			w.over[one.start] = true
		case one.ended():
			w.tell(one.start, one.name)
		}
	}
	for start, one := range w.running {
		if !listed[start] {
			w.tell(start, one.name)
		}
	}
	for start := range w.over {
		if !listed[start] {
			delete(w.over, start) // it is gone and cannot come back
		}
	}
	return nil
}

// tell notes that a session's command has ended, once a start.
func (w *watcher) tell(start, name string) {
	_, known := w.running[start]
	delete(w.running, start)
	if w.over[start] {
		return
	}
	w.over[start] = true
	if !known { // it was started and ended between two refreshes
		w.pending.Add(provider.Event{Name: name, Change: provider.Started})
	}
	w.pending.Add(provider.Event{Name: name, Change: provider.Ended})
}
