package mcpserver

import (
	"context"
	"den/internal/base/fault"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"net/http"
	"sync"
	"time"
)

// presence tells when clients over HTTP are gone that do not say so: one that
// held a stream open, as most do, has let go of it and asks nothing any more.
// Of clients without a stream only Options.SessionIdle tells.
type presence struct {
	grace time.Duration // for a stream that is opened again
	gone  func(id string)

	mu      sync.Mutex // guards the fields below
	clients map[string]*attendance
	stopped bool
}

// attendance is what one client does.
type attendance struct {
	requests int         // under way
	streamed bool        // it had a stream
	leaving  *time.Timer // or nil; runs while there is no request
}

func newPresence(grace time.Duration, gone func(id string)) *presence {
	return &presence{grace: grace, gone: gone, clients: map[string]*attendance{}}
}

// watch counts the requests of clients that have a session.
func (p *presence) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get(sessionHeader); id != "" && r.Method != http.MethodDelete {
			defer p.enter(id, r.Method == http.MethodGet)()
		}
		next.ServeHTTP(w, r)
	})
}

// enter notes that a request begins, until the returned func is called.
func (p *presence) enter(id string, stream bool) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.clients[id]
	if a == nil {
		a = &attendance{}
		p.clients[id] = a
	}
	a.requests++
	a.streamed = a.streamed || stream
	if a.leaving != nil {
		a.leaving.Stop()
		a.leaving = nil
	}
	return func() { p.leave(id, a) }
}

func (p *presence) leave(id string, a *attendance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.requests--
	if a.requests > 0 || p.stopped {
		return
	}
	if !a.streamed {
		delete(p.clients, id)
		return
	}
	var leaving *time.Timer
	leaving = time.AfterFunc(p.grace, func() {
		p.mu.Lock()
		still := a.leaving == leaving && !p.stopped
		if still {
			delete(p.clients, id)
		}
		p.mu.Unlock()
		if still {
			p.gone(id)
		}
	})
	a.leaving = leaving
}

// stop ends all timers.
func (p *presence) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, a := range p.clients {
		if a.leaving != nil {
			a.leaving.Stop()
		}
	}
}

// seats bounds the number of clients. A client has a seat from its initialize
// to its end: the transport's sessions are no measure, because it makes one for
// every request without a session, also for those that it refuses.
type seats struct {
	server *sdk.Server
	limit  int

	mu    sync.Mutex // guards taken
	taken map[*sdk.ServerSession]bool
}

// middleware refuses the initialize of a client for which there is no seat.
func (s *seats) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if of, ok := req.GetSession().(*sdk.ServerSession); ok && method == "initialize" && !s.take(of) {
			return nil, fault.Errorf(fault.Busy, "there are %d clients, which is the limit: end one of them first", s.limit)
		}
		return next(ctx, method, req)
	}
}

func (s *seats) take(of *sdk.ServerSession) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	still := map[*sdk.ServerSession]bool{}
	for one := range s.server.Sessions() {
		if s.taken[one] {
			still[one] = true
		}
	}
	s.taken = still
	if len(still) >= s.limit && !still[of] {
		return false
	}
	s.taken[of] = true
	return true
}
