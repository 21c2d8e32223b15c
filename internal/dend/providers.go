package dend

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"den/internal/provider"
	"den/internal/provider/factory"
	"den/internal/workspace"
)

// providers holds the providers that the workspace's agents use. Each is
// opened when it is first needed.
type providers struct {
	d *daemon

	mu     sync.Mutex // guards the fields below
	opened map[string]provider.Provider
	ctx    context.Context // or nil before the keeper serves
	watch  sync.WaitGroup
}

func newProviders(d *daemon) *providers {
	return &providers{d: d, opened: map[string]provider.Provider{}}
}

// get returns the provider of a kind, and opens it at the first call.
func (ps *providers) get(kind string) (provider.Provider, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p, ok := ps.opened[kind]; ok {
		return p, nil
	}
	p, err := ps.open(kind)
	if err != nil {
		return nil, fmt.Errorf("open provider %s: %w", kind, err)
	}
	ps.opened[kind] = p
	if ps.ctx != nil {
		ps.watchLocked(kind, p)
	}
	return p, nil
}

func (ps *providers) open(kind string) (provider.Provider, error) {
	f, err := factory.Of(kind)
	if err != nil {
		return nil, err
	}
	ps.d.mu.Lock()
	table := ps.d.session.Tables.Of(f.Kind)
	ps.d.mu.Unlock()
	return f.Open(ps.d.site(), table)
}

// subprocesses is the directory of sessions without a terminal. It is in the
// Home, so that they are found when the state directory was lost; a workspace
// from before keeps the one that it has.
func (d *daemon) subprocesses() string {
	if _, err := os.Stat(d.state.OldSessions()); err == nil {
		return d.state.OldSessions()
	}
	return filepath.Join(d.registration.Dir(), "subprocess")
}

// site is what the workspace's providers are opened with.
func (d *daemon) site() factory.Site {
	return factory.Site{
		Home: d.home, Owner: d.registration.ID, Binary: d.den, Version: Version,
		SessionsDir: d.subprocesses(), TmuxSocket: d.registration.TmuxSocket, Getenv: d.getenv,
	}
}

// checkProviderParts decodes what the file says to the agents' providers, so
// that all that is wrong is told at once.
func checkProviderParts(ws *workspace.Workspace) error {
	var all workspace.Problems
	for i := range ws.Agents {
		_, problems := factory.Decode(&ws.Agents[i])
		all = append(all, problems...)
	}
	return all.In(ws.Path)
}

// serve watches all opened providers until the context ends.
func (ps *providers) serve(ctx context.Context) {
	ps.mu.Lock()
	ps.ctx = ctx
	for kind, p := range ps.opened {
		ps.watchLocked(kind, p)
	}
	ps.mu.Unlock()
	<-ctx.Done()
	ps.watch.Wait()
}

// watchLocked reports ended sessions to the controller. The sessions of a
// provider that cannot be watched are checked only by the patrol.
func (ps *providers) watchLocked(kind string, p provider.Provider) {
	w, ok := p.(provider.Watcher)
	if !ok || ps.ctx.Err() != nil {
		return
	}
	ctx := ps.ctx
	ps.watch.Go(func() {
		for ctx.Err() == nil {
			events, err := w.Watch(ctx)
			if err != nil {
				log.Printf("watch %s sessions: %v; they are checked only by the patrol", kind, err)
				return
			}
			for event := range events {
				if event.Change == provider.Ended {
					ps.d.controller.Ended(event.Name)
				}
			}
		}
	})
}

// leaveLimit bounds how long a provider may take to stop its own servers.
const leaveLimit = 10 * time.Second

// leave stops what providers run for themselves, such as a tmux server. It is
// called after the agents have ended.
func (ps *providers) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for kind, p := range ps.opened {
		if l, ok := p.(provider.Leaver); ok {
			if err := l.Leave(ctx); err != nil {
				log.Printf("leave provider %s: %v", kind, err)
			}
		}
	}
}

func (ps *providers) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for kind, p := range ps.opened {
		if c, ok := p.(io.Closer); ok {
			if err := c.Close(); err != nil {
				log.Printf("close provider %s: %v", kind, err)
			}
		}
	}
}
