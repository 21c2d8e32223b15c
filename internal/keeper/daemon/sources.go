package daemon

import (
	"context"
	"log"
	"net/url"
	"path/filepath"
	"sync"

	"den/internal/agent"
	"den/internal/agent/conversation/sources"
	"den/internal/base/build"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// source returns where an agent's state is read from before its screen: one,
// whatever its configuration becomes; nil for none. What is kept to reach it
// stays in the state directory while it runs.
func (f *draft) source(ag *workspace.Agent, p provider.Provider, session, key string) (*sources.Live, error) {
	lister, ok := p.(provider.ProcessLister)
	if !ok || !ag.HasSource() {
		return nil, nil
	}
	a := sources.Agent{
		Vendor: ag.Preset, Env: ag.Env.Values, Dir: filepath.Join(f.d.state.Sources(), url.PathEscape(ag.Name)), Version: build.Version,
		Processes: func(ctx context.Context) ([]int, error) { return lister.Processes(ctx, session) },
	}
	if how, _ := ag.PolicyReach(); how == workspace.ByServer {
		a.Judge = f.d.policies.OnServer(ag.Preset, key, f.d.harnessDir(key))
	}
	if t, ok := p.(provider.OnTerminal); ok {
		a.Title = func(ctx context.Context) (string, error) { return t.Title(ctx, session) }
	}
	known := f.d.sources.lookup(ag.Name)
	if known.Serves(a) {
		return known, nil
	}
	live := sources.NewLive(a)
	f.sources[ag.Name] = live
	return live, nil
}

// liveSources are where the states of the keeper's agents are read from.
type liveSources struct {
	mu  sync.Mutex               // guards the fields below
	all map[string]*sources.Live // by name; nil for none
	old []*sources.Live          // of configurations before: somebody may still use them
}

func newLiveSources() *liveSources { return &liveSources{all: map[string]*sources.Live{}} }

func (l *liveSources) lookup(name string) *sources.Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[name]
}

// accept puts others in force.
func (l *liveSources) accept(fresh map[string]*sources.Live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, live := range fresh {
		if old := l.all[name]; old != nil {
			l.old = append(l.old, old)
		}
		l.all[name] = live
	}
}

// close lets go of all when nobody uses them any more.
func (l *liveSources) close() {
	l.mu.Lock()
	all := l.old
	for _, live := range l.all {
		all = append(all, live)
	}
	l.all, l.old = map[string]*sources.Live{}, nil
	l.mu.Unlock()
	for _, live := range all {
		closeSource(live)
	}
}

func closeSource(live *sources.Live) {
	if live == nil {
		return
	}
	if err := live.Close(); err != nil {
		log.Printf("close a state source: %v", err)
	}
}

// preparer is how the source takes part in a start; nil for none.
func preparer(live *sources.Live) agent.Preparer {
	if live == nil {
		return nil
	}
	return func(argv []string) ([]string, map[string]string, error) {
		launch, err := live.Prepare(argv)
		return launch.Argv, launch.Env, err
	}
}
