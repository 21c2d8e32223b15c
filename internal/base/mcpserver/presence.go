package mcpserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"den/internal/base/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// presence tells when clients over HTTP are gone that do not say so: one that
// held a stream open, as most do, has let go of it and asks nothing any more; or
// one that never had a stream is silent. No request of theirs is under way.
type presence struct {
	grace   time.Duration // for a stream that is opened again
	silence time.Duration // of a client that had none; 0: any
	gone    func(id string)

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

func newPresence(grace, silence time.Duration, gone func(id string)) *presence {
	return &presence{grace: grace, silence: silence, gone: gone, clients: map[string]*attendance{}}
}

// watch counts the requests of clients that have a session. The request that
// begins one does not name it: its answer does.
func (p *presence) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionHeader)
		if id != "" && r.Method != http.MethodDelete {
			defer p.enter(id, r.Method == http.MethodGet)()
		}
		next.ServeHTTP(w, r)
		if begun := w.Header().Get(sessionHeader); id == "" && begun != "" {
			p.enter(begun, false)()
		}
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
	limit := p.grace
	if !a.streamed {
		limit = p.silence
	}
	if limit <= 0 {
		delete(p.clients, id)
		return
	}
	var leaving *time.Timer
	leaving = time.AfterFunc(limit, func() {
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
