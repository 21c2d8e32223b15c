package irc

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
)

// A connection is one TCP connection of a client. Its fields below the line
// are guarded by Client.mu.
type connection struct {
	client *Client
	net    net.Conn
	urgent chan []byte     // lines that do not wait for their turn; if it is full the connection is given up
	life   context.Context // ends with the connection
	// ----
	registration *registration // until we are registered, then nil
	open         bool          // requests may be sent
	self         Source        // how others see us; Host and User are empty until that is known
	caps         map[string]bool
	isupport     ISupport
	joined       map[string]string // folded to written name
	pending      []*request        // sent and not answered, oldest first
	byLabel      map[string]*request
	batches      map[string]*batch
	holding      map[string][]Event // live messages of targets whose history is being read
	missing      []string           // targets whose history is to be read
	wakeCatchUp  wake.Signal        // capacity one
	rejoining    map[string]bool    // channels whose JOIN is not answered, by folded name
	since        time.Time          // what was missed came after this, or zero
	directSince  time.Time          // as since, of direct messages
	failure      error              // why it ended, the first reason
	lines        Bucket             // used by the writer alone
}

// urgentLines is how many answers to PINGs, and registration lines, can wait.
const urgentLines = 256

// serve connects, registers and runs one connection until it ends.
func (c *Client) serve(ctx context.Context) (registered bool, err error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return false, err
	}
	life, end := context.WithCancel(context.Background())
	defer end()
	cn := &connection{
		client: c, net: conn, urgent: make(chan []byte, urgentLines), life: life,
		registration: newRegistration(c.cfg), self: Source{Nick: c.cfg.Nick},
		caps: map[string]bool{}, isupport: NewISupport(), joined: map[string]string{},
		byLabel: map[string]*request{}, batches: map[string]*batch{}, holding: map[string][]Event{}, rejoining: map[string]bool{},
		wakeCatchUp: wake.New(), lines: NewBucket(c.cfg.Limits.LineRate, c.cfg.Limits.LineBurst),
	}
	var workers sync.WaitGroup
	workers.Go(cn.write)
	workers.Go(cn.catchUp)
	workers.Go(cn.regainNick)
	cn.register()
	err = cn.read()
	end()
	conn.Close() // Best effort: nothing more is read or written.
	workers.Wait()
	return cn.finish(err)
}

func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Limits.Connect)
	defer cancel()
	stop := c.cancelOnQuit(cancel)
	defer stop()
	network := "tcp"
	if strings.HasPrefix(c.cfg.Address, "/") {
		network = "unix"
	}
	conn, err := c.cfg.Dial(ctx, network, c.cfg.Address)
	if err != nil {
		return nil, fault.Errorf(fault.Unreachable, "connect to IRC server %s: %w", c.cfg.Address, err)
	}
	if c.cfg.TLS == nil {
		return conn, nil
	}
	config := c.cfg.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(c.cfg.Address) // Best effort: without a name the handshake fails and says so.
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close() // Best effort: nothing was said.
		return nil, fault.Errorf(fault.Unreachable, "connect to IRC server %s by TLS: %w", c.cfg.Address, err)
	}
	return secure, nil
}

// cancelOnQuit calls cancel when the client is closed, until the returned func
// is called, which waits.
func (c *Client) cancelOnQuit(cancel func()) func() {
	stopped, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		select {
		case <-c.quit:
			cancel()
		case <-stopped:
		}
	}()
	return func() {
		close(stopped)
		<-finished
	}
}

// read handles what the server sends until the connection ends.
func (cn *connection) read() error {
	limits := cn.client.cfg.Limits
	reader := NewLineReader(cn.net, MaxTags+MaxBody)
	registerBy := time.Now().Add(limits.Connect)
	asked := false
	for {
		deadline := time.Now().Add(limits.KeepAlive)
		if asked {
			deadline = time.Now().Add(limits.Silence)
		}
		open := cn.isOpen()
		if !open {
			deadline = registerBy
		}
		if err := cn.setDeadline(deadline); err != nil {
			return cn.drain(reader, err)
		}
		line, err := reader.Next()
		switch {
		case err == nil:
			asked = false
			if m, err := Parse(string(line)); err == nil {
				cn.handle(m)
			}
		case errors.Is(err, ErrLineTooLong): // not a message
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return fault.Errorf(fault.Unreachable, "read from IRC server: %w", err)
		case !open:
			return fault.Errorf(fault.Timeout, "register at IRC server: no answer within %v", limits.Connect)
		case asked:
			return fault.Errorf(fault.Unreachable, "read from IRC server: silent for %v", limits.KeepAlive+limits.Silence)
		default:
			asked = true
			cn.send(Message{Command: "PING", Params: []string{"den-keepalive"}})
		}
	}
}

// setDeadline returns why the connection ends, if it does.
func (cn *connection) setDeadline(t time.Time) error {
	cn.client.mu.Lock()
	defer cn.client.mu.Unlock()
	if cn.failure == nil {
		cn.net.SetReadDeadline(t) // Best effort: the read reports a closed connection.
	}
	return cn.failure
}

// drain reads until the server has closed the connection: closing it with
// unread bytes could take our last line away from the server. The connection
// has a deadline, or is closed.
func (cn *connection) drain(reader *LineReader, why error) error {
	for {
		if _, err := reader.Next(); err != nil && !errors.Is(err, ErrLineTooLong) {
			return why
		}
	}
}

func (cn *connection) isOpen() bool {
	cn.client.mu.Lock()
	defer cn.client.mu.Unlock()
	return cn.open
}

// failLocked ends the connection: its reader returns, and closes it.
func (cn *connection) failLocked(err error) {
	if cn.failure == nil {
		cn.failure = err
	}
	cn.net.SetReadDeadline(time.Now()) // Best effort: the read reports a closed connection.
}

// finish returns whether the connection was registered, and why it ended.
// Requests that were sent and not answered are told.
func (cn *connection) finish(err error) (registered bool, why error) {
	c := cn.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.failure != nil {
		err = cn.failure
	}
	for _, r := range cn.pending {
		r.lostLocked(err)
	}
	return cn.open, err
}

// send queues a line that does not wait for its turn.
func (cn *connection) send(m Message) {
	cn.client.mu.Lock()
	defer cn.client.mu.Unlock()
	cn.sendLocked(m)
}

func (cn *connection) sendLocked(m Message) {
	line, err := m.Append(nil)
	if err != nil {
		cn.failLocked(err)
		return
	}
	select {
	case cn.urgent <- line:
	default:
		cn.failLocked(fault.Errorf(fault.Busy, "write to IRC server: it asks more than it reads"))
	}
}

// write sends urgent lines at once and requests as the pace allows.
func (cn *connection) write() {
	quit := cn.client.quit
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		lines, wait := cn.nextRequest()
		if lines != nil {
			cn.put(lines)
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		wake := cn.client.queue.wake
		if lines != nil {
			wake = alreadyDue
		}
		select {
		case <-cn.life.Done():
			return
		case line := <-cn.urgent:
			cn.lines.Take(time.Now())
			cn.put(line)
		case <-quit:
			quit = nil
			cn.leave()
		case <-due:
		case <-wake:
		}
	}
}

// alreadyDue is a channel that is always ready: there may be more to send.
var alreadyDue = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (cn *connection) put(line []byte) {
	cn.net.SetWriteDeadline(time.Now().Add(cn.client.cfg.Limits.Silence)) // Best effort: the write reports it.
	if _, err := cn.net.Write(line); err != nil {
		cn.client.mu.Lock()
		defer cn.client.mu.Unlock()
		cn.failLocked(fault.Errorf(fault.Unreachable, "write to IRC server: %w", err))
	}
}

// leaveTime is how long the server has to take note of our QUIT.
const leaveTime = time.Second

// leave says goodbye and gives the server a moment to close the connection.
func (cn *connection) leave() {
	cn.put([]byte("QUIT :bye\r\n"))
	cn.client.mu.Lock()
	defer cn.client.mu.Unlock()
	if cn.failure == nil {
		cn.failure = ErrClosed
	}
	cn.net.SetReadDeadline(time.Now().Add(leaveTime)) // Best effort: the read ends now, or then.
}

// disconnected tells the caller that the connection has ended.
func (c *Client) disconnected(err error) {
	c.mu.Lock()
	was := c.conn != nil
	c.conn, c.lastErr = nil, err
	if was {
		c.ready = make(chan struct{})
	} else {
		close(c.ready) // wakes those who wait for the first attempt
		c.ready = make(chan struct{})
	}
	c.mu.Unlock()
	if !errors.Is(err, ErrClosed) {
		c.events.push(Event{Kind: EventDisconnected, Time: time.Now(), Err: err})
	}
}

// jitter spreads the attempts of many clients: half of the time to all of it.
func jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d/2)+1))
}

func (cn *connection) joinedNames() []string {
	return slices.Sorted(maps.Values(cn.joined))
}

func (s ISupport) clone() ISupport {
	s.Tokens = maps.Clone(s.Tokens)
	return s
}

func (c *Client) nextLabelLocked() string {
	c.labels++
	return strconv.FormatUint(c.labels, 36)
}
