// Package terminals gives each client sessions of its own: a shell that starts when
// it is first used, and more on request. All of them end when the client leaves.
//
// A terminal is a session: people list, watch and kill it like any other. A
// client may look at every session of the Home, and use its own.
//
// # Ownership
//
// A Client is made by New and ended by Close, which ends its terminals, unless
// they are kept. A client holds a lock on a file of its own meanwhile: the
// terminals of one that was killed are found by it and ended by CloseOrphans.
package terminals

import (
	"os"
	"sync"
	"time"

	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/news"
)

// Options is what the terminals of all clients have in common.
type Options struct {
	Home    home.Home
	Session session.Options // how sessions are made and reached
	Prefix  string          // begins the names of terminals
	Environ []string        // of programs, without what describes a terminal
	Dir     string          // where programs start, absolute
	Shell   []string        // what runs in a terminal for which no command was given

	// UseOthers lets clients use and end terminals that are not theirs.
	UseOthers bool
	// Keep leaves the terminals of a client that goes running.
	Keep   bool
	Limits Limits
	// ReportEvery is how often a waiting call reports; 0 is two seconds.
	ReportEvery time.Duration
}

// Limits bound what a client may use.
type Limits struct {
	Terminals int           // active at a time
	Output    int           // bytes of one answer; the whole output is in a file
	Log       int64         // bytes of a terminal's recording; the oldest part is dropped
	Idle      time.Duration // a terminal that nobody used for so long is closed; 0: never
}

// DefaultLimits are those for clients of which nothing is known.
func DefaultLimits() Limits {
	return Limits{Terminals: 8, Output: 16 << 10, Log: 64 << 20, Idle: 2 * time.Hour}
}

// The labels of a session that is a client's terminal.
const (
	ClientLabel = "den.client"      // the client's name
	ByLabel     = "den.client-by"   // what the client says that it is
	KeptLabel   = "den.client-kept" // it outlives its client; then every client may use it
)

// Client is one user of terminals. It may be used by any number of goroutines.
type Client struct {
	o    Options
	name string // unique; begins the names of its terminals
	by   string
	lock *os.File // see orphans.go
	// openingShell is a semaphore of one: two calls that need the shell open one.
	openingShell chan struct{}
	// collecting is a semaphore of one, too: it guards cursor, which is how far
	// the client was told.
	collecting chan struct{}
	cursor     news.Cursor

	mu       sync.Mutex           // guards the fields below
	own      map[string]*terminal // by the session's id
	starting int                  // that are being opened
	numbered int                  // the last number in a name
	shell    string               // the id of the client's own shell, or ""
	gone     bool                 // nothing is opened any more
}

// terminal is a session as a client sees it.
type terminal struct {
	s    *session.Session
	name string
	kept bool
	// client is the name of whom it belongs to, if that is another.
	client string

	// guarded by Client.mu
	calls int       // that use it now
	used  time.Time // when the last one ended
	asked string    // the question that the client was told last, if it has not typed since; or ""
	shown shown     // what the client was told of code that was not done
	had   []string  // the ends that it was told by others than Next since that was called, as news.Place has them
}

// New makes a client; by is what it says that it is, or "".
func New(o Options, by string) (*Client, error) {
	if o.ReportEvery == 0 {
		o.ReportEvery = 2 * time.Second
	}
	name, lock, err := claimName(o)
	if err != nil {
		return nil, err
	}
	return &Client{
		o: o, name: name, by: by, lock: lock, openingShell: make(chan struct{}, 1), own: map[string]*terminal{},
		collecting: make(chan struct{}, 1), cursor: news.NewCursor(time.Now()),
	}, nil
}

// begin notes that a call uses a terminal, until the returned func is called.
func (c *Client) begin(t *terminal) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.calls++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.calls--
		t.used = time.Now()
	}
}

// tell keeps the question that the client is told of, or "" when it types.
func (c *Client) tell(t *terminal, question string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.asked = question
}

// told returns the question that the client was told last.
func (c *Client) told(t *terminal) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.asked
}

// owned returns the client's terminals.
func (c *Client) owned() []*terminal {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*terminal, 0, len(c.own))
	for _, t := range c.own {
		all = append(all, t)
	}
	return all
}

// forget drops a terminal that was ended.
func (c *Client) forget(t *terminal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.own, t.s.Dir.ID)
	if c.shell == t.s.Dir.ID {
		c.shell = ""
	}
}
