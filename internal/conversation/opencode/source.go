package opencode

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"den/internal/conversation"
	"den/internal/fault"
)

// Name is what State.Source says.
const Name = "opencode server"

// maxEvent bounds a line of the stream: tools' results come whole.
const maxEvent = 32 << 20

// The pauses before the server is tried again.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Options says whose state is read.
type Options struct {
	Endpoint Endpoint
	// Processes lists the processes of the agent's session.
	Processes func(ctx context.Context) ([]int, error)
}

// Source follows the event stream of one opencode.
type Source struct {
	options Options
	client  *client
	changes chan struct{} // room for one token: more are merged
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	model   *model     // or nil while there is no stream
	last    conversation.State
	problem string                   // why there is none
	waiting map[string]chan struct{} // by message: closed when the server has it
}

var (
	_ conversation.Source   = (*Source)(nil)
	_ conversation.Sender   = (*Source)(nil)
	_ conversation.Answerer = (*Source)(nil)
)

// Open begins to follow. The server need not listen yet.
func Open(o Options) *Source {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Source{
		options: o, client: newClient(o.Endpoint), changes: make(chan struct{}, 1), cancel: cancel,
		problem: "its server has not answered yet", waiting: map[string]chan struct{}{},
	}
	s.running.Go(func() { s.run(ctx) })
	return s
}

// Name says what is read.
func (*Source) Name() string { return Name }

// Changes receives after the state may have changed.
func (s *Source) Changes() <-chan struct{} { return s.changes }

// Close ends the stream.
func (s *Source) Close() error {
	s.cancel()
	s.running.Wait()
	s.client.close()
	return nil
}

// State returns what the stream has told. Without one the processes tell
// whether opencode is gone.
func (s *Source) State(ctx context.Context) (conversation.State, error) {
	s.mu.Lock()
	streams, state, problem := s.model != nil, s.last, s.problem
	s.mu.Unlock()
	if streams {
		return state, nil
	}
	pids, err := s.options.Processes(ctx)
	if err != nil {
		return conversation.State{}, err
	}
	if len(pids) == 0 {
		return conversation.State{Activity: conversation.Gone, Why: "its process has ended", Source: Name}, nil
	}
	return conversation.State{Activity: conversation.Unknown, Why: problem, Source: Name}, nil
}

func (s *Source) run(ctx context.Context) {
	defer close(s.changes)
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		connected, err := s.follow(ctx)
		if connected {
			pause = firstPause
		}
		s.lost(err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// follow reads one stream to its end. What was true before is asked for when
// the stream has begun, so that nothing is missed between.
func (s *Source) follow(ctx context.Context) (connected bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := s.client.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() // Best effort: it was only read.
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		e, ok, err := parseLine(lines.Bytes())
		switch {
		case err != nil:
			return connected, err
		case !ok:
			continue
		case !connected:
			if err := s.begin(ctx); err != nil {
				return false, err
			}
			connected = true
		}
		if err := s.take(e); err != nil {
			return connected, err
		}
	}
	if err := lines.Err(); err != nil {
		return connected, fault.Errorf(fault.Unreachable, "read opencode's events: %w", err)
	}
	return connected, io.EOF
}

// begin makes a model of what the server says now.
func (s *Source) begin(ctx context.Context) error {
	m := newModel()
	var working map[string]status
	var permissions, questions []properties
	for path, to := range map[string]any{"/session/status": &working, "/permission": &permissions, "/question": &questions} {
		if err := s.client.call(ctx, http.MethodGet, path, nil, to); err != nil {
			return err
		}
	}
	for session, st := range working {
		m.setStatus(session, st)
	}
	for _, p := range permissions {
		m.ask(p.permission())
	}
	for _, p := range questions {
		m.ask(p.choice())
	}
	s.mu.Lock()
	s.model = m
	s.refreshLocked()
	s.mu.Unlock()
	s.tell()
	return nil
}

// take applies an event and wakes those who wait for its message.
func (s *Source) take(e event) error {
	s.mu.Lock()
	err := s.model.apply(e)
	changed := s.refreshLocked()
	if e.Type == "message.updated" {
		var p properties
		if json.Unmarshal(e.Properties, &p) == nil && p.Info.Role == "user" && s.waiting[p.Info.ID] != nil {
			close(s.waiting[p.Info.ID])
			delete(s.waiting, p.Info.ID)
		}
	}
	s.mu.Unlock()
	if changed {
		s.tell()
	}
	return err
}

// refreshLocked makes the model's state the last one and reports whether it
// is another.
func (s *Source) refreshLocked() bool {
	state := s.model.state()
	if same(state, s.last) {
		return false
	}
	state.Since = s.last.Since
	if state.Activity != s.last.Activity || state.Question != nil {
		state.Since = time.Now()
	}
	s.last = state
	return true
}

func same(a, b conversation.State) bool {
	asked := func(s conversation.State) string {
		if s.Question == nil {
			return ""
		}
		return s.Question.ID
	}
	return a.Activity == b.Activity && a.Why == b.Why && asked(a) == asked(b)
}

func (s *Source) lost(err error) {
	s.mu.Lock()
	s.model, s.last = nil, conversation.State{}
	s.problem = "its server does not answer: " + err.Error()
	s.mu.Unlock()
	s.tell()
}

func (s *Source) tell() {
	select {
	case s.changes <- struct{}{}:
	default: // one is there already
	}
}
