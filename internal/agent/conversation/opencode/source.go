package opencode

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/base/fault"
)

// Name is what State.Source says.
const Name = "opencode server"

// maxEvent bounds a line of the stream: tools' results come whole.
const maxEvent = 32 << 20

// Options says whose state is read.
type Options struct {
	Endpoint Endpoint
	// Processes lists the processes of the agent's session.
	Processes func(ctx context.Context) ([]int, error)
	// Limit bounds one question to the server, and the time until its stream
	// begins; 0 means 20 s.
	Limit time.Duration
	// Judge decides a use of a tool that opencode asks for, before a person is
	// asked; or nil. It must return quickly.
	Judge func(tool string, input json.RawMessage) Verdict
}

// Verdict is what Judge says of a use.
type Verdict struct {
	Decided bool // else a person is asked
	Allow   bool
	Why     string // the model is told why it was not allowed
}

// Source follows the event stream of one opencode.
type Source struct {
	*watch.Stream
	endpoint Endpoint
	client   *client
	judge    func(tool string, input json.RawMessage) Verdict // or nil
	patience time.Duration                                    // for a stream to begin; the follower's own

	mu      sync.Mutex               // guards the fields below
	model   *model                   // or nil before the first stream
	waiting map[string]chan struct{} // by message: closed when the server has it
}

var (
	_ conversation.Source   = (*Source)(nil)
	_ conversation.Sender   = (*Source)(nil)
	_ conversation.Answerer = (*Source)(nil)

	_ conversation.Confirmer = (*Source)(nil)
)

// Open begins to follow. The server need not listen yet.
func Open(o Options) *Source {
	s := &Source{endpoint: o.Endpoint, client: newClient(o.Endpoint, cmp.Or(o.Limit, callLimit)), judge: o.Judge, waiting: map[string]chan struct{}{}}
	s.patience = min(firstPatience, s.client.limit)
	s.Stream = watch.NewStream(watch.StreamOptions{Name: Name, Follow: s.follow, Processes: o.Processes})
	s.Start()
	return s
}

// Close ends the stream.
func (s *Source) Close() error {
	err := s.Stream.Close()
	s.client.close()
	return err
}

// firstPatience is how long the first stream may take to begin. Each one after
// it that does not has twice the time, up to that of any question.
const firstPatience = 2 * time.Second

// follow reads one stream to its end. A stream that does not begin in time is
// given up, to be asked for anew: opencode (1.18.33) may never answer a request
// that comes while it starts, and answers the next.
func (s *Source) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := s.patience
	late := time.AfterFunc(patience, func() {
		cancel(fault.Errorf(fault.Timeout, "ask opencode: /event has not begun in %v", patience))
	})
	defer late.Stop()
	s.patience = min(2*patience, s.client.limit)
	err := s.read(ctx, func() { late.Stop() })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// read reads one stream to its end. What was true before is asked for when the
// stream has begun, so that nothing is missed between.
func (s *Source) read(ctx context.Context, hasBegun func()) error {
	resp, err := s.client.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() // Best effort: it was only read.
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for begun := false; lines.Scan(); {
		e, ok, err := parseLine(lines.Bytes())
		switch {
		case err != nil:
			return err
		case !ok:
			continue
		case !begun:
			hasBegun()
			if err := s.begin(ctx); err != nil {
				return err
			}
			begun = true
		}
		if s.decided(ctx, e) {
			continue
		}
		if err := s.take(e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fault.Errorf(fault.Unreachable, "read opencode's events: %w", err)
	}
	return io.EOF
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
	s.mu.Unlock()
	s.Set(m.state())
	return nil
}

// take applies an event and wakes those who wait for its message.
func (s *Source) take(e event) error {
	s.mu.Lock()
	err := s.model.apply(e)
	state := s.model.state()
	if e.Type == "message.updated" {
		var p properties
		if json.Unmarshal(e.Properties, &p) == nil && p.Info.Role == "user" && s.waiting[p.Info.ID] != nil {
			close(s.waiting[p.Info.ID])
			delete(s.waiting, p.Info.ID)
		}
	}
	s.mu.Unlock()
	s.Set(state)
	return err
}
