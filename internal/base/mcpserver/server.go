package mcpserver

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"

	"den/internal/base/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client is what belongs to one client of the server.
type Client interface {
	// Close ends it: the client is gone.
	Close(ctx context.Context) error
}

// Options is what a server offers.
type Options[C Client] struct {
	Name, Version string
	Instructions  string // for the model, beside the tools
	Tools         []Tool[C]
	Resources     *Resources[C] // or nil
	// Connect makes what belongs to a client, at its first call; by is what the
	// client says that it is, or "".
	Connect func(by string) (C, error)
	Log     *log.Logger // or nil; takes what goes wrong in the server itself

	// For HTTP alone.
	MaxClients  int           // at a time; 0: no limit
	SessionIdle time.Duration // a client that asks nothing for so long is gone; 0: never
	StreamGrace time.Duration // and one that let go of its stream so long ago; 0: half a minute
	Silence     time.Duration // and one that never had a stream, and asks nothing for so long; 0: SessionIdle alone tells
}

// Server serves clients. Make it with New, and call one of Stdio and HTTP.
type Server[C Client] struct {
	o    Options[C]
	sdk  *sdk.Server
	work sync.WaitGroup // a goroutine for each connection

	mu          sync.Mutex // guards the fields below
	connections map[*sdk.ServerSession]*connection[C]
	ending      bool
}

// connection is a client that has called something.
type connection[C Client] struct {
	ctx    context.Context // ends when the client goes
	cancel context.CancelFunc
	once   sync.Once
	client C     // set once
	err    error // set once: why there is none

	// guarded by Server.mu
	made bool // there is a client
}

// New makes a server.
func New[C Client](o Options[C]) *Server[C] {
	s := &Server[C]{o: o, connections: map[*sdk.ServerSession]*connection[C]{}}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: o.Name, Version: o.Version}, &sdk.ServerOptions{
		Instructions: o.Instructions,
		// The list never changes: nobody needs to be told.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: resourceCapabilities(o.Resources != nil)},
	})
	for _, t := range o.Tools {
		s.sdk.AddTool(t.declared(), s.handler(t))
	}
	if o.Resources != nil {
		s.addResources(*o.Resources)
	}
	if o.MaxClients > 0 {
		s.sdk.AddReceivingMiddleware((&seats{server: s.sdk, limit: o.MaxClients}).middleware)
	}
	return s
}

// errEnding refuses calls while the client or the server goes.
var errEnding = fault.Errorf(fault.NotRunning, "the connection is about to end")

// connect returns what belongs to a client, and makes it at the first call.
func (s *Server[C]) connect(of *sdk.ServerSession) (*connection[C], error) {
	c, err := s.connectionOf(of)
	if err != nil {
		return nil, err
	}
	c.once.Do(func() {
		c.client, c.err = s.o.Connect(describe(of))
		s.mu.Lock()
		defer s.mu.Unlock()
		c.made = c.err == nil
	})
	return c, c.err
}

func (s *Server[C]) connectionOf(of *sdk.ServerSession) (*connection[C], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return nil, errEnding
	}
	c, known := s.connections[of]
	if !known {
		c = &connection[C]{}
		c.ctx, c.cancel = context.WithCancel(context.Background())
		s.connections[of] = c
		s.work.Go(func() { s.closeWhenGone(of, c) })
	}
	return c, nil
}

// describe is what a client says that it is.
func describe(of *sdk.ServerSession) string {
	params := of.InitializeParams()
	if params == nil || params.ClientInfo == nil {
		return ""
	}
	return params.ClientInfo.Name + " " + params.ClientInfo.Version
}

// closeLimit bounds the end of what belongs to a client.
const closeLimit = 30 * time.Second

// closeWhenGone waits for a client's end and closes what belongs to it.
func (s *Server[C]) closeWhenGone(of *sdk.ServerSession, c *connection[C]) {
	gone := make(chan struct{})
	go func() {
		_ = of.Wait() // Best effort: how the connection ended does not matter here.
		close(gone)
	}()
	select {
	case <-gone:
	case <-c.ctx.Done(): // hangUp: the transport knows it earlier
	}
	c.cancel()
	c.once.Do(func() { c.err = errEnding }) // nothing is made any more
	s.mu.Lock()
	made := c.made
	s.mu.Unlock()
	if made {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		if err := c.client.Close(ctx); err != nil {
			s.logf("close what belonged to a client: %v", err)
		}
	}
	<-gone
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, of)
}

// hangUp ends the calls of the client with this session id and what belongs to
// it, or with "" of all.
func (s *Server[C]) hangUp(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, c := range s.connections {
		if id == "" || of.ID() == id {
			c.cancel()
		}
	}
}

// end lets no client connect any more, hangs up, and waits.
func (s *Server[C]) end() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.hangUp("")
	for of := range s.sdk.Sessions() {
		if err := of.Close(); err != nil && !errors.Is(err, sdk.ErrConnectionClosed) {
			s.logf("end a client's connection: %v", err)
		}
	}
	s.work.Wait()
}

// Clients returns what belongs to each client that is there.
func (s *Server[C]) Clients() []C {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []C
	for _, c := range s.connections {
		if c.made && c.ctx.Err() == nil {
			all = append(all, c.client)
		}
	}
	return all
}

func (s *Server[C]) logf(format string, args ...any) {
	if s.o.Log != nil {
		s.o.Log.Printf(format, args...)
	}
}
