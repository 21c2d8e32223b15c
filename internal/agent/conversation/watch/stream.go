package watch

import (
	"context"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/poll"
	"den/internal/base/wake"
)

// The pauses before a server is tried again.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// StreamOptions says what a Stream follows.
type StreamOptions struct {
	Name string // of the source
	// Follow connects, calls Set with every state, and returns when the
	// connection has ended. It is called again then, after a pause.
	Follow func(ctx context.Context) error
	// Processes lists the processes of the agent's session: without any, and
	// without a connection, the agent is gone. Or nil.
	Processes func(ctx context.Context) ([]int, error)
}

// A Stream is a state that a server pushes. Close ends it.
type Stream struct {
	options StreamOptions
	changes wake.Signal // room for one token: more are merged
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex    // guards the fields below
	connected bool          // state is what the server said last
	came      chan struct{} // closed while connected
	state     conversation.State
	problem   string // why there is none
}

// NewStream makes a stream that does not run yet.
func NewStream(o StreamOptions) *Stream {
	return &Stream{options: o, changes: wake.New(), came: make(chan struct{}), problem: "its server has not answered yet"}
}

// Start begins to follow. The server need not listen yet.
func (s *Stream) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.running.Go(func() { s.run(ctx) })
}

// Name says what is read.
func (s *Stream) Name() string { return s.options.Name }

// Changes receives after the state may have changed, and is closed by Close.
func (s *Stream) Changes() <-chan struct{} { return s.changes }

// Close ends the connection and waits for it.
func (s *Stream) Close() error {
	s.cancel()
	s.running.Wait()
	return nil
}

// State returns what the server said last. Without a connection the processes
// tell whether the agent is gone.
func (s *Stream) State(ctx context.Context) (conversation.State, error) {
	s.mu.Lock()
	connected, state, problem := s.connected, s.state, s.problem
	s.mu.Unlock()
	if connected {
		return state, nil
	}
	if s.options.Processes != nil {
		pids, err := s.options.Processes(ctx)
		if err != nil {
			return conversation.State{}, err
		}
		if len(pids) == 0 {
			return Gone(s.options.Name), nil
		}
	}
	return conversation.State{Activity: conversation.Unknown, Why: problem, Source: s.options.Name}, nil
}

// Problem says why there is no connection, "" while there is one.
func (s *Stream) Problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected {
		return ""
	}
	return s.problem
}

// AwaitProblem is Problem after an agent that runs had the time to connect.
func (s *Stream) AwaitProblem(ctx context.Context, limit time.Duration) string {
	s.mu.Lock()
	came, connected := s.came, s.connected
	s.mu.Unlock()
	if connected {
		return ""
	}
	if pids, err := s.options.Processes(ctx); err == nil && len(pids) == 0 {
		return s.Problem() // it is gone
	}
	select {
	case <-came:
	case <-ctx.Done():
	case <-time.After(limit):
	}
	return s.Problem()
}

// Set takes a state from the server. Since when it holds is filled in where
// the server does not say.
func (s *Stream) Set(state conversation.State) {
	state.Source = s.options.Name
	s.mu.Lock()
	same := s.connected && sameState(state, s.state)
	if !same {
		if now := time.Now(); state.Since.IsZero() || state.Since.After(now) { // of a clock that is fast
			state.Since = now
		}
		s.state = state
	}
	if !s.connected {
		close(s.came)
	}
	s.connected = true
	s.mu.Unlock()
	if !same {
		s.changes.Set()
	}
}

// sameState compares what callers act on.
func sameState(a, b conversation.State) bool {
	asked := func(s conversation.State) string {
		if s.Question == nil {
			return ""
		}
		return s.Question.ID + "\x00" + s.Question.Text
	}
	return a.Activity == b.Activity && a.Why == b.Why && asked(a) == asked(b) && budgetOf(a) == budgetOf(b)
}

func budgetOf(s conversation.State) conversation.Budget {
	if s.Budget == nil {
		return conversation.Budget{}
	}
	return *s.Budget
}

func (s *Stream) run(ctx context.Context) {
	defer close(s.changes)
	pause := firstPause
	for ctx.Err() == nil {
		err := s.options.Follow(ctx)
		if s.lost(err) {
			pause = firstPause
		}
		_ = poll.Pause(ctx, pause) // the loop asks the context, too
		pause = min(2*pause, lastPause)
	}
}

// lost forgets the state and reports whether there was one.
func (s *Stream) lost(err error) bool {
	s.mu.Lock()
	was := s.connected
	if was {
		s.came = make(chan struct{})
	}
	s.connected, s.state = false, conversation.State{}
	s.problem = "its server does not answer"
	if err != nil {
		s.problem += ": " + err.Error()
	}
	s.mu.Unlock()
	s.changes.Set() // also where nothing was connected: the processes may have gone
	return was
}
