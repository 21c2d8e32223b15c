package mcpserver

import (
	"context"
	"sync"

	"den/internal/base/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

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
