package terminal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
)

// A Set is the terminals of one agent during one tick.
type Set struct {
	config Config
	files  *files
	known  *registry
	left   *lefts

	running   context.Context // ends with Detach
	stop      context.CancelFunc
	followers sync.WaitGroup
	writing   sync.Once
	detach    sync.Once
	detached  error       // of it
	dirty     wake.Signal // room for one token: files are stale

	mu       sync.Mutex // guards the fields below
	loggedIn bool
	ttys     map[int]*tty  // by number; nil while one is being opened or closed
	changed  chan struct{} // closed, and replaced, when something happens
}

// New returns the terminals of a tick. Nothing is started or read before Login.
func New(c Config) (*Set, error) {
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	if c.Record == nil {
		c.Record = func(int, history.Terminal) {}
	}
	c.Gather = cmp.Or(c.Gather, gatherLimit)
	f, err := openFiles(c.Data)
	if err != nil {
		return nil, err
	}
	known, err := openRegistry(c.State, f)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	s := &Set{
		config: c, files: f, known: known, left: openLefts(c.State), dirty: wake.New(),
		ttys: map[int]*tty{}, changed: make(chan struct{}),
	}
	s.running, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Detach ends following and leaves the sessions running. The next tick's login
// finds them. No tool works after it.
func (s *Set) Detach() error {
	s.detach.Do(func() {
		s.stop()
		s.followers.Wait()
		s.flushAll()
		s.saveRegistry()
		s.detached = s.files.close()
	})
	return s.detached
}

// LoggedIn reports whether Login was called.
func (s *Set) LoggedIn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loggedIn
}

// Live lists the terminals whose programs run: they must be closed before a
// tick ends.
func (s *Set) Live() []int {
	var live []int
	for _, t := range s.open() {
		if t.now().live {
			live = append(live, t.number)
		}
	}
	return live
}

// CloseAll closes every terminal, as at the end of a tick.
func (s *Set) CloseAll(ctx context.Context) error {
	var errs []error
	for _, t := range s.open() {
		if _, err := s.close(ctx, t); err != nil && fault.KindOf(err) != fault.NotFound {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *Set) requireLogin() error {
	if !s.LoggedIn() {
		return fault.Hintf(fault.Errorf(fault.Usage, "you are not logged in"), "call login() first")
	}
	return nil
}

// open returns the terminals that are open, by number.
func (s *Set) open() []*tty {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*tty
	for _, n := range slices.Sorted(maps.Keys(s.ttys)) {
		if t := s.ttys[n]; t != nil {
			all = append(all, t)
		}
	}
	return all
}

// find returns one open terminal.
func (s *Set) find(number int) (*tty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.ttys[number]; t != nil {
		return t, nil
	}
	return nil, fault.Hintf(fault.Errorf(fault.NotFound, "terminal %d does not exist", number), "open() makes a new one, and wait() lists those that are there")
}

// reserve takes the lowest free number, or the one that is wanted if want is
// not negative.
func (s *Set) reserve(want int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range Max {
		if want >= 0 && n != want {
			continue
		}
		if _, taken := s.ttys[n]; !taken {
			s.ttys[n] = nil
			return n, nil
		}
	}
	if want >= 0 {
		return 0, fault.Errorf(fault.Busy, "terminal %d is not free: terminals are numbered from 0 to %d, and each number is used once", want, Max-1)
	}
	return 0, fault.Hintf(fault.Errorf(fault.Busy, "all %d terminals are open", Max), "close() one that you no longer need")
}

// put makes a terminal that was started available.
func (s *Set) put(t *tty) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ttys[t.number] = t
}

// claim takes a terminal out for closing: only one caller gets it, and its
// number stays taken.
func (s *Set) claim(t *tty) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ttys[t.number] != t {
		return false
	}
	s.ttys[t.number] = nil
	return true
}

// release frees a number.
func (s *Set) release(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ttys, number)
}

// free counts the numbers that are not taken.
func (s *Set) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Max - len(s.ttys)
}

// news returns a channel that is closed when something happens.
func (s *Set) news() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// happened wakes whoever waits, and the writer of files.
func (s *Set) happened() {
	s.dirty.Set()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// begin follows a terminal.
func (s *Set) begin(t *tty) {
	ctx, stop := context.WithCancel(s.running)
	t.stop, t.done = stop, make(chan struct{})
	s.followers.Go(func() { t.follow(ctx) })
	s.writing.Do(func() { s.followers.Go(s.writeFiles) })
}

// What terminals are like.
const (
	Max  = 20 // terminals, numbered from 0
	Cols = 120
	Rows = 40
)

// Limits of tools.
const (
	defaultWait = 30 * time.Second
	maxWait     = 60 * time.Second
	// loginWait is how long login waits for the output of startup commands.
	loginWait = 15 * time.Second
	// openWait is how long open waits for a program that is going to wait for
	// input, to show how it begins.
	openWait = 500 * time.Millisecond
	// maxText bounds what one call types.
	maxText = 256 << 10
	// callLimit bounds a question to a host.
	callLimit = 10 * time.Second
	// killGrace is how long a program may take to end before it is killed.
	killGrace = 2 * time.Second
)

// Config is what a Set needs to know.
type Config struct {
	Name string // of the agent's instance; begins the sessions' names
	Data string // the data repository, absolute
	// State is a directory outside of the data repository that is not wiped
	// between ticks, absolute. It keeps what login must know of earlier ticks.
	State   string
	Tick    int
	Startup []Startup
	Place   Place
	Notices []string    // told at login, such as why an image was not built
	Warn    func(error) // or nil; told what could not be written or read
	// Gather is how long a wait listens to a program that prints and goes on; 0
	// means ten seconds.
	Gather time.Duration
	// Record is told when a terminal was opened, and when it was archived or
	// found lost; or nil. It may be called by several goroutines.
	Record func(tick int, t history.Terminal)
}

// Startup is a terminal that login opens. Without a command it is a shell.
type Startup = datarepo.Terminal
