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

// places are the providers that the workspace's agents use, opened when they
// are first needed.
type places struct {
	d *daemon

	mu     sync.Mutex // guards the fields below
	opened map[string]provider.Provider
	ctx    context.Context // or nil before the keeper serves
	watch  sync.WaitGroup
}

func newPlaces(d *daemon) *places {
	return &places{d: d, opened: map[string]provider.Provider{}}
}

// get opens a kind of place, once.
func (ps *places) get(kind string) (provider.Provider, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p, ok := ps.opened[kind]; ok {
		return p, nil
	}
	p, err := ps.open(kind)
	if err != nil {
		return nil, fmt.Errorf("open the place for %s sessions: %w", kind, err)
	}
	ps.opened[kind] = p
	if ps.ctx != nil {
		ps.watchLocked(kind, p)
	}
	return p, nil
}

func (ps *places) open(kind string) (provider.Provider, error) {
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

// serve lets all places tell of ends until the context ends.
func (ps *places) serve(ctx context.Context) {
	ps.mu.Lock()
	ps.ctx = ctx
	for kind, p := range ps.opened {
		ps.watchLocked(kind, p)
	}
	ps.mu.Unlock()
	<-ctx.Done()
	ps.watch.Wait()
}

// watchLocked passes the ends of sessions on to the controller. A place that
// cannot tell is looked at by the patrol alone.
func (ps *places) watchLocked(kind string, p provider.Provider) {
	w, ok := p.(provider.Watcher)
	if !ok || ps.ctx.Err() != nil {
		return
	}
	ctx := ps.ctx
	ps.watch.Go(func() {
		for ctx.Err() == nil {
			events, err := w.Watch(ctx)
			if err != nil {
				log.Printf("watch %s sessions: %v; they are looked at on patrol only", kind, err)
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

// leaveLimit bounds how long a place may take to end what it keeps of its own.
const leaveLimit = 10 * time.Second

// leave ends what places keep of their own, such as a tmux server, once the
// agents have ended.
func (ps *places) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for kind, p := range ps.opened {
		if l, ok := p.(provider.Leaver); ok {
			if err := l.Leave(ctx); err != nil {
				log.Printf("leave the place for %s sessions: %v", kind, err)
			}
		}
	}
}

func (ps *places) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for kind, p := range ps.opened {
		if c, ok := p.(io.Closer); ok {
			if err := c.Close(); err != nil {
				log.Printf("close the place for %s sessions: %v", kind, err)
			}
		}
	}
}
