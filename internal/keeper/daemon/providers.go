package daemon

import (
	"context"
	"io"
	"log"
	"sync"
	"time"

	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/provider/factory"
	"den/internal/place/workspace"
)

// providers holds the providers that the workspace's agents use. Each is
// opened when it is first needed.
type providers struct {
	site  factory.Site
	ended func(session string)

	mu      sync.Mutex        // guards the fields below
	session workspace.Session // what the file in force says for all sessions
	opened  map[string]provider.Provider
	ctx     context.Context // or nil before the keeper serves
	watch   sync.WaitGroup
}

// newProviders returns none yet. ended hears of sessions that end, once serve is
// called.
func newProviders(at factory.Site, ended func(session string)) *providers {
	return &providers{site: at, ended: ended, opened: map[string]provider.Provider{}}
}

// lookup returns the provider of a kind, if it is open.
func (ps *providers) lookup(kind string) (provider.Provider, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok := ps.opened[kind]
	return p, ok
}

// get returns the provider of a kind, and opens it at the first call, as the
// file in force has it.
func (ps *providers) get(kind string) (provider.Provider, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p, ok := ps.opened[kind]; ok {
		return p, nil
	}
	p, err := openProvider(ps.site, kind, ps.session)
	if err != nil {
		return nil, err
	}
	ps.addLocked(kind, p)
	return p, nil
}

// accept takes over what a file says for all sessions, and the providers that were
// opened for its plan.
func (ps *providers) accept(session workspace.Session, opened map[string]provider.Provider) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.session = session
	for kind, p := range opened {
		ps.addLocked(kind, p)
	}
}

func (ps *providers) addLocked(kind string, p provider.Provider) {
	ps.opened[kind] = p
	if ps.ctx != nil {
		ps.watchLocked(kind, p)
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
	if ps.ctx.Err() != nil {
		return
	}
	ctx := ps.ctx
	ps.watch.Go(func() {
		for ctx.Err() == nil {
			events, err := p.Watch(ctx)
			if err != nil {
				log.Printf("watch %s sessions: %v; they are checked only by the patrol", kind, err)
				return
			}
			for event := range events {
				if event.Change == provider.Ended {
					ps.ended(event.Name)
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
	closeProviders(ps.opened)
}

func closeProviders(opened map[string]provider.Provider) {
	for kind, p := range opened {
		if c, ok := p.(io.Closer); ok {
			if err := c.Close(); err != nil {
				log.Printf("close provider %s: %v", kind, err)
			}
		}
	}
}

// pruneEvery is the interval between two prunes.
const pruneEvery = time.Hour

// prune removes the remains of old ended sessions, now and at intervals, until
// the context ends.
func (ps *providers) prune(ctx context.Context) {
	for {
		ps.mu.Lock()
		var opened []provider.Pruner
		for _, p := range ps.opened {
			if pruner, ok := p.(provider.Pruner); ok {
				opened = append(opened, pruner)
			}
		}
		ps.mu.Unlock()
		for _, p := range opened {
			if err := p.PruneOld(ctx); err != nil && ctx.Err() == nil {
				log.Printf("prune ended sessions: %v", err)
			}
		}
		if poll.Pause(ctx, pruneEvery) != nil {
			return
		}
	}
}
