package irc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
)

// ErrClosed is of a client that has ended.
var ErrClosed = errors.New("the IRC client is closed")

// ClientConfig is what a client needs to know. Zero values mean the defaults.
type ClientConfig struct {
	Address  string      // host:port, or the path of a Unix socket
	TLS      *tls.Config // or nil: plain text
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Nick     string
	User     string // default: the nick
	RealName string // default: the nick
	Password string // of the server, or empty
	Login    *Login // or nil: no SASL
	Bot      bool   // tell the server that this is a program
	Channels []ChannelKey
	// Cursors are the last messages that the caller knows, by target. What came
	// after them is read from the history, where the server keeps one.
	Cursors map[string]Cursor
	// DirectSince is when the newest direct message was sent that the caller
	// knows. Later ones are read from the history. Zero stands for the newest
	// of the cursors.
	DirectSince time.Time
	Limits      ClientLimits
}

// A Login is how a client authenticates by SASL.
type Login struct {
	Account  string
	Password string
}

// A ChannelKey is a channel and, if it needs one, its key.
type ChannelKey struct{ Name, Key string }

// A Cursor is a place in the history of a target.
type Cursor struct {
	ID   string // of the last message that is known, or empty
	Time time.Time
}

// ClientLimits are bounds and times of a client. Zero values mean the defaults.
type ClientLimits struct {
	Queue     int           // lines that wait to be sent, also while there is no connection; default 512; more are refused
	Events    int           // that wait to be taken; default 4096; then the oldest are dropped
	LineRate  float64       // lines sent a second, over time; default 4
	LineBurst int           // lines sent at once; default 10
	Connect   time.Duration // to connect and register; default 30 s
	Answer    time.Duration // for the server's answer to a request; default 30 s
	KeepAlive time.Duration // of silence before we ask whether the server is there; default 60 s
	Silence   time.Duration // after asking, before the connection is given up; default 30 s
	FirstWait time.Duration // before the first attempt to reconnect; default 1 s; it doubles
	LongWait  time.Duration // the longest wait between attempts; default 2 min
	Regain    time.Duration // between attempts to get our nick back; default 60 s
	History   int           // messages of one target that are read after a reconnect; default 1000
}

func (l *ClientLimits) setDefaults() {
	orDefault(&l.Queue, 512)
	orDefault(&l.Events, 4096)
	orDefault(&l.LineRate, 4)
	orDefault(&l.LineBurst, 10)
	orDefault(&l.Connect, 30*time.Second)
	orDefault(&l.Answer, 30*time.Second)
	orDefault(&l.KeepAlive, time.Minute)
	orDefault(&l.Silence, 30*time.Second)
	orDefault(&l.FirstWait, time.Second)
	orDefault(&l.LongWait, 2*time.Minute)
	orDefault(&l.Regain, time.Minute)
	orDefault(&l.History, 1000)
}

func orDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

// A Client keeps a connection to one server. Make it with NewClient; Run runs
// it. Its methods may be called by any goroutine, also while there is no
// connection: they wait for one until their context ends.
type Client struct {
	cfg    ClientConfig
	events *eventQueue
	asking chan struct{} // held by the one query that is under way
	quit   chan struct{} // closed by Close
	ended  chan struct{} // closed when Run has returned
	once   sync.Once

	mu       sync.Mutex    // guards the fields below and those of conn
	conn     *connection   // or nil: not registered
	ready    chan struct{} // closed while conn is set
	lastErr  error         // why there is no connection, or nil
	queue    sendQueue
	desired  map[string]ChannelKey // channels to be on, by folded name
	cursors  map[string]Cursor     // by folded target
	seen     seenIDs
	lastSeen time.Time // of the newest message, or zero
	direct   time.Time // of the newest direct message, or zero: none is known
	isupport ISupport  // of the last connection
	labels   uint64
}

// NewClient checks a configuration. It starts nothing.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Address == "" || cfg.Nick == "" || strings.ContainsAny(cfg.Nick, " \x00\r\n:") {
		return nil, fault.Errorf(fault.Usage, "configure IRC client: an address and a valid nick are needed, not %q and %q", cfg.Address, cfg.Nick)
	}
	if l := cfg.Login; l != nil && (l.Account == "" || l.Password == "") {
		return nil, fault.Errorf(fault.Usage, "configure IRC client: a login needs an account and a password")
	}
	orDefault(&cfg.User, cfg.Nick)
	orDefault(&cfg.RealName, cfg.Nick)
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	cfg.Limits.setDefaults()
	c := &Client{
		cfg: cfg, events: newEventQueue(cfg.Limits.Events),
		asking: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		ready: make(chan struct{}), queue: newSendQueue(cfg.Limits.Queue), direct: cfg.DirectSince, lastSeen: cfg.DirectSince,
		desired: map[string]ChannelKey{}, cursors: map[string]Cursor{}, isupport: NewISupport(),
	}
	for _, ch := range cfg.Channels {
		c.desired[c.isupport.Fold(ch.Name)] = ch
	}
	for target, cursor := range cfg.Cursors {
		c.cursors[c.isupport.Fold(target)] = cursor
		if cursor.Time.After(c.lastSeen) {
			c.lastSeen = cursor.Time
		}
	}
	return c, nil
}

// Dial makes a client, runs it and waits until it has registered for the first
// time. Close ends it.
func Dial(ctx context.Context, cfg ClientConfig) (*Client, error) {
	c, err := NewClient(cfg)
	if err != nil {
		return nil, err
	}
	go c.Run(context.Background()) // Close ends it and waits for it
	if err := c.firstReady(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// firstReady is Ready that gives up after the first attempt to connect.
func (c *Client) firstReady(ctx context.Context) error {
	for {
		c.mu.Lock()
		ready, failed, wake := c.conn != nil, c.lastErr, c.ready
		c.mu.Unlock()
		if ready || failed != nil {
			return failed
		}
		select {
		case <-ctx.Done():
			return fault.Errorf(fault.Timeout, "connect to IRC server %s: %w", c.cfg.Address, ctx.Err())
		case <-wake:
		case <-c.ended:
			return ErrClosed
		}
	}
}

// Ready waits until the client is registered.
func (c *Client) Ready(ctx context.Context) error {
	for {
		c.mu.Lock()
		connected, wake := c.conn != nil, c.ready
		c.mu.Unlock()
		if connected {
			return nil
		}
		select {
		case <-ctx.Done():
			return c.notConnected(ctx.Err())
		case <-wake:
		case <-c.ended:
			return ErrClosed
		}
	}
}

// notConnected says why there is no connection, if that is known.
func (c *Client) notConnected(cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastErr != nil {
		return fault.Errorf(fault.Unreachable, "wait for IRC server %s: %w", c.cfg.Address, c.lastErr)
	}
	return fault.Errorf(fault.Timeout, "wait for IRC server %s: %w", c.cfg.Address, cause)
}

// Run connects, and connects again whenever the connection is lost, until the
// context ends or Close is called. It may be called once.
func (c *Client) Run(ctx context.Context) {
	defer c.events.close()
	defer close(c.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.once.Do(func() { close(c.quit) }) })
	defer stop()
	wait := c.cfg.Limits.FirstWait
	for {
		begin := time.Now()
		registered, err := c.serve(ctx)
		// A connection that did not last is a failed attempt too: two clients
		// of one account could replace each other forever.
		if registered && time.Since(begin) >= c.cfg.Limits.LongWait {
			wait = c.cfg.Limits.FirstWait
		}
		c.disconnected(err)
		if !c.pause(jitter(wait)) {
			c.refuseAll()
			return
		}
		wait = min(2*wait, c.cfg.Limits.LongWait)
	}
}

// pause returns false if the client was closed meanwhile.
func (c *Client) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.quit:
		return false
	default:
	}
	select {
	case <-c.quit:
		return false
	case <-timer.C:
		return true
	}
}

// Close leaves the server and waits until all goroutines of the client have
// ended. What was queued and not sent is refused.
func (c *Client) Close() {
	c.once.Do(func() { close(c.quit) })
	<-c.ended
}

// Nick returns the nick that we have, which is not the configured one while
// that is taken.
func (c *Client) Nick() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return c.cfg.Nick
	}
	return c.conn.self.Nick
}

// Connected reports whether the client is registered.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil
}

// ISupport returns what the server said about itself, last time if there is no
// connection.
func (c *Client) ISupport() ISupport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isupport.clone()
}

// HasCap reports whether a capability is in use.
func (c *Client) HasCap(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil && c.conn.caps[name]
}

// Joined returns the channels that we are on, as the server writes them.
func (c *Client) Joined() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	return c.conn.joinedNames()
}
