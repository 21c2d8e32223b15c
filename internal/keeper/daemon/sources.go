package daemon

import (
	"context"
	"log"
	"net/url"
	"path/filepath"

	"den/internal/agent"
	"den/internal/agent/conversation"
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
	if !reachesSource(ag) {
		return nil, nil // its server is in the sandbox with it
	}
	if !ok || ag.StateSource == "screen" || ag.SessionProvider == "container" && !isBoxed(ag) {
		return nil, nil // in a container, files and ports are others
	}
	socket, err := f.d.mindSocket(ag, key)
	if err != nil {
		return nil, err
	}
	vendor := ag.Provider
	if socket != "" {
		vendor = conversation.Harness
	}
	a := sources.Agent{
		Socket: socket,
		Vendor: vendor, Env: ag.Env.Values, Dir: filepath.Join(f.d.state.Sources(), url.PathEscape(ag.Name)), Version: build.Version,
		Processes: func(ctx context.Context) ([]int, error) { return lister.Processes(ctx, session) },
	}
	if how, _ := ag.PolicyReach(); how == workspace.ByServer {
		a.Judge = f.d.judgeOnServer(ag.Provider, key)
	}
	if titler, ok := p.(provider.Titler); ok {
		a.Title = func(ctx context.Context) (string, error) { return titler.Title(ctx, session) }
	}
	f.d.mu.Lock()
	known := f.d.sources[ag.Name]
	f.d.mu.Unlock()
	if known.Serves(a) {
		return known, nil
	}
	live := sources.NewLive(a)
	f.sources[ag.Name] = live
	return live, nil
}

// closeSources lets go of all sources when nobody uses them any more.
func (d *daemon) closeSources() {
	d.mu.Lock()
	all := d.oldSources
	for _, live := range d.sources {
		all = append(all, live)
	}
	d.sources, d.oldSources = nil, nil
	d.mu.Unlock()
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
