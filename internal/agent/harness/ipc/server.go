package ipc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/base/rpc"
)

const (
	maxLine     = 1 << 20          // of a request
	maxClients  = 64               // more are refused
	maxInFlight = 32               // requests of one client; more wait
	maxWhispers = 20               // that the agent has not surely heard; the oldest go
	writeLimit  = 10 * time.Second // a client that does not read is cut off
)

// Handler answers requests. Its calls run concurrently. A nil result is an
// empty object.
type Handler func(ctx context.Context, r Request, c *Client) (data any, warnings []string, err error)

// Server serves a harness's socket.
type Server struct {
	handle Handler

	mu       sync.Mutex // guards the fields below; taken under a client's writing
	clients  map[*Client]bool
	whispers []whisper // that no client of the agent has surely heard
	last     int       // the number of the newest
}

// whisper is a Whisper and its number. Later ones have higher numbers.
type whisper struct {
	Whisper
	number int
}

// NewServer makes a server.
func NewServer(handle Handler) *Server {
	return &Server{handle: handle, clients: map[*Client]bool{}}
}

// Serve accepts clients until the context ends, then waits for them.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() }) // Best effort: Accept reports the end.
	defer stop()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				cancel()
				return
			}
			_ = poll.Pause(ctx, 50*time.Millisecond) // out of descriptors, most likely
			continue
		}
		clients.Go(func() { s.serve(ctx, conn) })
	}
}

// Client is a connected client.
type Client struct {
	conn  net.Conn
	away  bool // see IsAway
	agent bool // it acts as the agent; guarded by the server's mu

	writing sync.Mutex // of whole lines; guards told
	told    int        // the whispers up to this one were sent to it
}

// IsAway reports whether the client runs on the agent's machine.
func (c *Client) IsAway() bool { return c.away }

func (s *Server) serve(ctx context.Context, conn *net.UnixConn) {
	c := &Client{conn: conn}
	if err := rpc.CheckClient(conn); err != nil {
		c.refuse(Request{}, err)
		conn.Close() // Best effort: all that was to be said is.
		return
	}
	s.attend(ctx, c)
}

// ServeAway serves a client of where the agent lives, until it or the context ends.
func (s *Server) ServeAway(ctx context.Context, conn net.Conn) {
	s.attend(ctx, &Client{conn: conn, away: true})
}

// attend reads one client's requests.
func (s *Server) attend(ctx context.Context, c *Client) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.leave() })
	defer stop()
	defer c.conn.Close() // Best effort: all that was to be said is.
	if !s.enter(c) {
		c.refuse(Request{}, fault.Errorf(fault.Busy, "%d clients are connected already", maxClients))
		return
	}
	defer s.leave(c)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel() // before the calls are waited for
	slots := make(chan struct{}, maxInFlight)
	lines := bufio.NewReaderSize(c.conn, 4096)
	for {
		r, err := readRequest(lines)
		if errors.Is(err, errRequest) {
			c.refuse(r, err)
			continue
		}
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		calls.Go(func() {
			defer func() { <-slots }()
			s.call(ctx, c, r)
		})
	}
}

func (s *Server) call(ctx context.Context, c *Client, r Request) {
	if r.ByAgent() {
		s.mu.Lock()
		c.agent = true
		s.mu.Unlock()
		s.tell(c, nil)
	}
	data, warnings, err := s.handle(ctx, r, c)
	response := responseTo(r, data, warnings, err)
	if r.ByAgent() {
		s.tell(c, &response)
		return
	}
	_ = c.Send(response) // Best effort: a client that left does not want it.
}

var errRequest error = &fault.Error{Kind: fault.Usage, Err: errors.New("a request is one JSON object a line, with a type and an id")}

// readRequest reads a line. errRequest is one that is no request: the next may
// be.
func readRequest(lines *bufio.Reader) (Request, error) {
	var line []byte
	tooLong := false
	for {
		part, err := lines.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			tooLong, line = true, nil
		} else if !tooLong {
			line = append(line, part...)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return Request{}, err
		}
	}
	var r Request
	if tooLong {
		return r, fmt.Errorf("%w; this line has more than %d bytes", errRequest, maxLine)
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return r, errRequest
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("%w: %v", errRequest, err)
	}
	if r.Type == "" {
		return r, errRequest
	}
	return r, nil
}

func (s *Server) enter(c *Client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= maxClients {
		return false
	}
	s.clients[c] = true
	return true
}

func (s *Server) leave(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

// tell sends a client of the agent the whispers that it was not sent, and then
// the response to one of its requests, or nil. A client reads up to the response
// that it waits for: with that it has heard all before it. What is sent to one
// that waits for nothing may never be read.
func (s *Server) tell(c *Client, response *Response) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, w := range s.keptAfter(c.told) {
		if c.writeLocked(w.Whisper) != nil {
			return // the next client hears it
		}
		c.told = w.number
	}
	if response == nil {
		return
	}
	heard := s.forget(c.told) // first: who has the response may ask again at once
	if c.writeLocked(*response) != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keepLocked(heard...)
	}
}

// keptAfter returns the whispers with higher numbers that nobody has surely
// heard.
func (s *Server) keptAfter(number int) []whisper {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.whispers, func(w whisper) bool { return w.number > number })
	if i < 0 {
		return nil
	}
	return slices.Clone(s.whispers[i:])
}

// forget drops the whispers up to a number, and returns them.
func (s *Server) forget(number int) (dropped []whisper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whispers = slices.DeleteFunc(s.whispers, func(w whisper) bool {
		if w.number > number {
			return false
		}
		dropped = append(dropped, w)
		return true
	})
	return dropped
}

// keepLocked has the next client hear whispers, but not more than there may be.
func (s *Server) keepLocked(some ...whisper) {
	s.whispers = append(s.whispers, some...)
	slices.SortFunc(s.whispers, func(a, b whisper) int { return a.number - b.number })
	s.whispers = s.whispers[max(0, len(s.whispers)-maxWhispers):]
}

// Whisper sends guidance to the agent's clients, and keeps it for others until
// one has surely heard it.
func (s *Server) Whisper(kind, message string) {
	s.mu.Lock()
	s.last++
	s.keepLocked(whisper{Whisper{Type: TypeWhisper, Kind: kind, Message: message}, s.last})
	s.mu.Unlock()
	for _, c := range s.agents() {
		s.tell(c, nil)
	}
}

// agents returns the clients that act as the agent.
func (s *Server) agents() (all []*Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		if c.agent {
			all = append(all, c)
		}
	}
	return all
}

// refuse answers a request that no handler sees.
func (c *Client) refuse(r Request, err error) {
	_ = c.Send(responseTo(r, nil, nil, err)) // Best effort: a client that left does not want it.
}

// responseTo makes the response to a request.
func responseTo(r Request, data any, warnings []string, err error) Response {
	response := Response{Type: TypeResponse, ID: r.ID, OK: err == nil, Warnings: warnings, Data: json.RawMessage("{}")}
	if err == nil && data != nil {
		response.Data, err = json.Marshal(data)
	}
	if err != nil {
		response.OK, response.Data = false, nil
		response.Error, response.Kind, response.Hint = err.Error(), string(fault.KindOf(err)), fault.HintOf(err)
	}
	return response
}

// leave has the reader of the client's requests end. Best effort: it is all that it
// does.
func (c *Client) leave() {
	c.conn.SetReadDeadline(time.Now()) // a connection through a stream can be read when it is closed
	c.conn.Close()
}

// Process returns the number of the client's process, unless that IsAway.
func (c *Client) Process() (int, error) {
	unix, ok := c.conn.(*net.UnixConn)
	if !ok {
		return 0, fault.Errorf(fault.Unsupported, "the client is no process of this machine")
	}
	return rpc.PeerProcess(unix)
}

// Send writes one line to the client.
func (c *Client) Send(message any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.writeLocked(message)
}

// writeLocked is Send for who holds writing.
func (c *Client) writeLocked(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		c.conn.Close() // Best effort: half a line may be written, so nothing can follow.
		return err
	}
	return nil
}
