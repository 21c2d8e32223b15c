package acp

import (
	"context"
	"encoding/json"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/agent/runner/stdio"
	counting "den/internal/agent/runner/turn"
)

const (
	// maxRequests bounds the agent's requests that are being answered. At the
	// bound nothing more is read from the agent until one is.
	maxRequests = 64
	// maxItems bounds what waits for the goroutine that runs a turn. At the
	// bound nothing more is read from the agent until it takes one.
	maxItems = 256
)

// session is an open conversation with an agent.
type session struct {
	driver  Driver
	options runner.Options
	conn    *stdio.Conn
	peer    *jsonrpc.Peer
	files   *files
	skipped counting.Skipped

	login     []authMethod // set once, by open
	introduce string       // what to put before the next prompt; of the goroutine that calls Turn

	ctx       context.Context // ends with the session
	cancel    context.CancelFunc
	workers   sync.WaitGroup // the reader and the answers to requests
	busy      chan struct{}  // a slot for each request that is being answered
	closeOnce func() runner.Exit

	mu        sync.Mutex // guards the fields below
	closed    bool
	id        string
	model     string
	turn      *turn                         // or nil
	asked     map[string]context.CancelFunc // the agent's open requests, by id
	terminals map[string]bool               // those that were made for this session
	updates   int                           // that came
	spent     float64                       // USD, of the whole session
	counted   tokenUsage                    // of the whole session, where the agent sums
}

var _ runner.Witness = (*session)(nil)

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// isOurs tells whether an id in a message is this session's. While the session
// is being made, all are.
func (s *session) isOurs(id string) bool {
	ours := s.ID()
	return ours == "" || id == ours
}

// currentTurn is the turn that runs, or nil.
func (s *session) currentTurn() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

func (s *session) Done() <-chan struct{} { return s.conn.Done() }

func (s *session) call(ctx context.Context, method string, params, result any) error {
	var raw json.RawMessage
	if err := s.peer.Call(ctx, method, params, &raw); err != nil {
		return err
	}
	if result == nil || len(raw) == 0 {
		return nil
	}
	if err := decode(raw, result); err != nil {
		return &runner.Failure{Class: runner.Bug, Message: "the agent's answer to " + method + " cannot be read: " + err.Error()}
	}
	return nil
}

func (s *session) countUpdates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates
}

func (s *session) setModel(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model = model
}

// Interrupt asks the agent to end its turn. The agent's open questions are
// withdrawn first, as the protocol demands.
func (s *session) Interrupt(ctx context.Context) error {
	t := s.currentTurn()
	if t == nil {
		return nil // the turn has ended by itself
	}
	select {
	case <-t.sent: // not before its prompt: the agent would not know what to end
	case <-t.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	t.interrupt()
	return s.peer.Notify(ctx, sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: sdk.SessionId(s.ID())})
}

// Close ends the agent and waits for everything that this session started.
func (s *session) Close() runner.Exit { return s.closeOnce() }

func (s *session) close() runner.Exit {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	exit := s.conn.Close()
	s.workers.Wait()
	s.releaseTerminals()
	s.files.close()
	s.skipped.Total()
	return exit
}
