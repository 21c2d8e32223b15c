package codex

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/base/wake"
)

// Name is what State.Source says.
const Name = "codex app server"

// Options says whose state is read.
type Options struct {
	Endpoint Endpoint
	Version  string // den's, for the server to know who calls
	// Processes lists the processes of the agent's session.
	Processes func(ctx context.Context) ([]int, error)
}

// Source is a client of one codex' app server.
type Source struct {
	*watch.Stream
	options Options

	mu     sync.Mutex // guards the fields below
	conn   *conn      // or nil while there is none
	model  *model
	joined map[string]bool // threads of this connection

	unsure wake.Signal // something is to be asked about; room for one token
}

var (
	_ conversation.Source   = (*Source)(nil)
	_ conversation.Sender   = (*Source)(nil)
	_ conversation.Answerer = (*Source)(nil)

	_ conversation.Confirmer = (*Source)(nil)
)

// Open begins to follow. The server need not listen yet.
func Open(o Options) *Source {
	s := &Source{options: o, model: &model{}, unsure: wake.New()}
	s.Stream = watch.NewStream(watch.StreamOptions{Name: Name, Follow: s.follow, Processes: o.Processes})
	s.Start()
	return s
}

// follow is one connection from its beginning to its end. One goroutine reads;
// this one asks about what was read.
func (s *Source) follow(ctx context.Context) error {
	c, err := dial(ctx, s.options.Endpoint.Socket)
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	s.conn, s.model, s.joined = c, &model{}, map[string]bool{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.conn = nil
		s.mu.Unlock()
	}()
	var reading sync.WaitGroup
	defer reading.Wait()
	defer c.close() // before the wait: it ends the read
	reading.Go(func() { cancel(s.readAll(c)) })
	if err := s.begin(ctx, c); err != nil {
		return err
	}
	for {
		if err := errors.Join(s.inquire(ctx, c), s.resumeTurn(ctx, c)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.unsure:
		}
	}
}

// readAll applies all that comes until the connection ends.
func (s *Source) readAll(c *conn) error {
	var wrong error // of what was read
	c.peer.Read(func(m jsonrpc.Message) {
		s.mu.Lock()
		err := s.model.apply(m)
		state := s.model.state()
		s.mu.Unlock()
		if err != nil {
			wrong = err
			c.close()
			return
		}
		s.Set(state)
		s.unsure.Set()
	})
	return cmp.Or(wrong, c.why)
}

// begin introduces den and asks which threads there are.
func (s *Source) begin(ctx context.Context, c *conn) error {
	client := map[string]any{"clientInfo": map[string]string{"name": "den", "title": "den", "version": s.options.Version}}
	if err := c.call(ctx, "initialize", client, nil); err != nil {
		return err
	}
	if err := c.peer.Notify(ctx, "initialized", nil); err != nil {
		return err
	}
	var loaded struct {
		Data []string `json:"data"`
	}
	if err := c.call(ctx, "thread/loaded/list", struct{}{}, &loaded); err != nil {
		return err
	}
	for _, id := range loaded.Data {
		s.mu.Lock()
		known := s.model.knows(id)
		s.mu.Unlock()
		if !known {
			s.introduce(ctx, c, id)
		}
	}
	s.refresh()
	return nil
}

// introduce asks about a thread. Best effort: one that is gone meanwhile is
// none.
func (s *Source) introduce(ctx context.Context, c *conn, id string) {
	var read struct {
		Thread thread `json:"thread"`
	}
	if err := c.call(ctx, "thread/read", map[string]string{"threadId": id}, &read); err != nil || read.Thread.ID == "" {
		return
	}
	s.mu.Lock()
	if !s.model.knows(id) { // a notification may have been faster
		s.model.put(read.Thread)
	}
	s.mu.Unlock()
}

// inquire asks about threads that were not introduced, and joins the one that
// the screen shows as soon as it can be.
func (s *Source) inquire(ctx context.Context, c *conn) error {
	s.mu.Lock()
	unknown := s.model.unknown
	s.model.unknown = nil
	s.mu.Unlock()
	for _, id := range unknown {
		s.introduce(ctx, c, id)
	}
	if len(unknown) > 0 {
		s.refresh()
	}
	s.mu.Lock()
	id := s.model.main().ID
	joined := id == "" || s.joined[id]
	s.mu.Unlock()
	if joined {
		return nil
	}
	// Before its first turn a thread cannot be joined: it is tried again when
	// something is told of it.
	if err := c.call(ctx, "thread/resume", map[string]any{"threadId": id, "excludeTurns": true}, nil); err != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	s.joined[id] = true
	s.mu.Unlock()
	return nil
}

func (s *Source) refresh() {
	s.mu.Lock()
	state := s.model.state()
	s.mu.Unlock()
	s.Set(state)
}
