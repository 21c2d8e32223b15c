package dashboard

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/lazy"
	"den/internal/screen/eventlog"
	"den/internal/session/attention"
	"den/internal/session/cell"
	"den/internal/session/home"
)

// Options is what a model is made with.
type Options struct {
	Registry home.Registry // which Homes there are; may be empty
	Home     home.Home     // the own one: always listed, and first
	FPS      int           // frames a second that a followed session gives at most; 0 means 30
}

// Model is the read model. It is safe for concurrent use.
type Model struct {
	registry home.Registry
	home     home.Home
	interval time.Duration // between two frames of a session

	ctx    context.Context // ends the followers
	cancel context.CancelFunc
	work   sync.WaitGroup // the followers

	past      past
	timelines timelines
	budget    budget
	search    chan struct{} // one token: searches wait for each other
	begin     chan struct{} // a token for each log whose end may be looked for at a time

	mu      sync.Mutex        // guards the fields below
	records map[string]record // of sessions that are over, by directory
	feeds   map[string]*feed  // by directory
	closed  bool
}

// New returns a model. It starts nothing until somebody follows a session.
func New(o Options) *Model {
	if o.FPS <= 0 {
		o.FPS = 30
	}
	ctx, cancel := context.WithCancel(context.Background())
	begin := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)) // the others wait: half the machine is not ours
	for range cap(begin) {
		begin <- struct{}{}
	}
	search := make(chan struct{}, 1)
	search <- struct{}{}
	return &Model{
		search:   search,
		registry: o.Registry, home: o.Home, interval: time.Second / time.Duration(o.FPS),
		ctx: ctx, cancel: cancel, begin: begin,
		records: map[string]record{}, feeds: map[string]*feed{},
	}
}

// Close stops all followers and waits for them. Open views return
// context.Canceled.
func (m *Model) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
}

// A Recording is what can be played: the log of a session, or a file.
type Recording struct {
	key   string // by which what was read of it is kept
	open  func() (*eventlog.Log, error)
	start func() (time.Time, error) // the wall clock at its beginning
	cells string                    // the directory of their records, or ""
}

// Of is the recording of a session.
func Of(d home.Dir) Recording {
	return Recording{
		key: d.Path, cells: d.Cells(),
		open: func() (*eventlog.Log, error) { return eventlog.Open(d.Log()) },
		start: func() (time.Time, error) {
			m, err := d.Load()
			if err != nil {
				return time.Time{}, err
			}
			return m.Created, nil
		},
	}
}

// File is a recording that was exported. key tells it from all others, also
// from a file that had the same name before; start is when it began.
func File(key string, start time.Time, open func() (*eventlog.Log, error)) Recording {
	return Recording{key: "file\x00" + key, open: open, start: func() (time.Time, error) { return start, nil }}
}

// Open opens the log.
func (r Recording) Open() (*eventlog.Log, error) { return r.open() }

func (r Recording) cellStore() (cell.Store, bool) { return cell.Store{Dir: r.cells}, r.cells != "" }

// record is the cached record of a session that is over: there may be
// thousands, and they do not change.
type record struct {
	written time.Time // of the file
	size    int64
	session Session
	news    *attention.Ending
}

// List lists all Homes. What cannot be read is reported in the listing and
// does not hide the rest.
func (m *Model) List() *Listing {
	l := &Listing{}
	homes, err := m.registry.Homes()
	if err != nil {
		l.Problem = err.Error()
	}
	seen := map[string]bool{}
	add := func(root home.Home, own bool, last time.Time) {
		if root.Path == "" || seen[root.Path] {
			return
		}
		seen[root.Path] = true
		if _, err := os.Stat(root.Path); !own && errors.Is(err, fs.ErrNotExist) {
			return // the registry is advisory: this one is gone
		}
		h := m.listHome(root)
		h.Own, h.LastSeen = own, last
		l.Homes = append(l.Homes, h)
	}
	own := slices.IndexFunc(homes, func(h home.RegisteredHome) bool { return h.Path == m.home.Path })
	if own >= 0 {
		add(m.home, true, homes[own].LastSeen)
	} else {
		add(m.home, true, time.Time{})
	}
	for _, h := range homes {
		add(home.Home{Path: h.Path}, false, h.LastSeen)
	}
	m.forgetUnlisted(l)
	return l
}

func (m *Model) listHome(root home.Home) Home {
	h := Home{Path: root.Path, Sessions: []Session{}}
	dirs, err := root.All()
	if err != nil {
		h.Problem = err.Error()
		return h
	}
	for _, d := range dirs {
		s, ok := m.inspect(d)
		if !ok {
			continue
		}
		if s.Status.Active() {
			h.Active++
		}
		h.Sessions = append(h.Sessions, s)
	}
	slices.SortFunc(h.Sessions, byRelevance)
	return h
}

// inspect returns the current state of one session, or false if it was removed
// meanwhile.
func (m *Model) inspect(d home.Dir) (Session, bool) {
	fi, err := os.Stat(filepath.Join(d.Path, "session.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Session{}, false
	}
	if err == nil {
		m.mu.Lock()
		r, ok := m.records[d.Path]
		m.mu.Unlock()
		if ok && r.written.Equal(fi.ModTime()) && r.size == fi.Size() {
			r.session.Attention = d.AttentionEnded(r.news) // somebody may have looked
			return r.session, true
		}
	}
	man, err := d.Inspect()
	if err != nil {
		return Session{Dir: d, ID: d.ID, Name: d.ID, Home: d.Home.Path, Problem: err.Error()}, true
	}
	s := describe(d, man)
	s.Attention = d.Attention(man)
	if t, err := d.LastWrite(); err == nil {
		s.LastOutput = t
	}
	// fi is from before the read: a record that changed in between is read
	// again.
	if s.Status.Final() && fi != nil {
		m.mu.Lock()
		m.records[d.Path] = record{fi.ModTime(), fi.Size(), s, man.LastNews()}
		m.mu.Unlock()
	}
	return s, true
}

// forgetUnlisted drops the records of sessions that are gone.
func (m *Model) forgetUnlisted(l *Listing) {
	listed := map[string]bool{}
	for s := range l.All() {
		listed[s.Dir.Path] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for path := range m.records {
		if !listed[path] {
			delete(m.records, path)
		}
	}
}

// A Listing is every Home that is known and its sessions, at one moment.
type Listing struct {
	Homes []Home `json:"homes"`
	// Problem says why Homes may be missing, or is empty.
	Problem string `json:"problem,omitempty"`
}

// A Home is one state root.
type Home struct {
	Path     string    `json:"path"`
	Own      bool      `json:"own,omitempty"` // the one that the dashboard was started with
	LastSeen time.Time `json:"last_seen,omitzero"`
	Active   int       `json:"active"` // how many of its sessions are
	Sessions []Session `json:"sessions"`
	Problem  string    `json:"problem,omitempty"` // why it could not be read
}

// A Session is a session's record with its actual status.
type Session struct {
	Dir home.Dir `json:"-"`

	ID         string            `json:"id"`
	Name       string            `json:"session"`
	Home       string            `json:"home"`
	Status     home.Status       `json:"status"`
	Failure    string            `json:"failure,omitempty"`
	Command    []string          `json:"command"` // without the variables that it sets: home.ShownCommand
	Cwd        string            `json:"cwd"`
	Cols       int               `json:"cols"` // as it was started; a frame has the size of its moment
	Rows       int               `json:"rows"`
	Labels     map[string]string `json:"labels,omitempty"`
	Created    time.Time         `json:"created"`
	Ended      time.Time         `json:"ended,omitzero"`
	LastOutput time.Time         `json:"last_output,omitzero"` // when its log last grew
	ExitCode   *int              `json:"exit_code,omitempty"`
	ExitSignal string            `json:"exit_signal,omitempty"`
	Problem    string            `json:"problem,omitempty"` // its record cannot be read
	// Attention says whether the session needs a person; its State is empty
	// where the record cannot be read.
	Attention attention.Attention `json:"attention,omitzero"`
}

// Age is how long the session has run, or ran.
func (s *Session) Age(now time.Time) time.Duration {
	if !s.Ended.IsZero() {
		now = s.Ended
	} else if s.Status.Final() && !s.LastOutput.IsZero() {
		now = s.LastOutput // lost: nobody wrote its end down
	}
	return max(0, now.Sub(s.Created))
}

// Active returns the listing without ended sessions: Homes with an active
// session or a problem, and the dashboard's own.
func (l *Listing) Active() *Listing {
	out := &Listing{Problem: l.Problem}
	for _, h := range l.Homes {
		h.Sessions = slices.DeleteFunc(slices.Clone(h.Sessions), func(s Session) bool { return !s.Status.Active() })
		if h.Own || len(h.Sessions) > 0 || h.Problem != "" {
			out.Homes = append(out.Homes, h)
		}
	}
	return out
}

// Queue returns the sessions that need a person, what waits longest first.
func (l *Listing) Queue() []*Session {
	byID := map[string]*Session{}
	for s := range l.All() {
		byID[s.ID] = s
	}
	queue := []*Session{}
	for _, item := range attention.Queue(l.items()) {
		queue = append(queue, byID[item.ID])
	}
	return queue
}

// Counts counts the states of attention of all sessions.
func (l *Listing) Counts() map[attention.State]int { return attention.Counts(l.items()) }

func (l *Listing) items() []attention.Item {
	var items []attention.Item
	for s := range l.All() {
		items = append(items, attention.Item{ID: s.ID, Attention: s.Attention})
	}
	return items
}

// Find returns the session with this id.
func (l *Listing) Find(id string) (*Session, bool) {
	for s := range l.All() {
		if s.ID == id {
			return s, true
		}
	}
	return nil, false
}

// All yields all sessions.
func (l *Listing) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for i := range l.Homes {
			for j := range l.Homes[i].Sessions {
				if !yield(&l.Homes[i].Sessions[j]) {
					return
				}
			}
		}
	}
}

// needsYou is what a filter finds of all sessions that need a person.
const needsYou = "needs-you"

// Matches reports whether all words occur in the session's name, id, status,
// command, directory, Home, labels or state of attention, ignoring case.
func (s *Session) Matches(words string) bool {
	hay := []string{s.Name, s.ID, string(s.Status), strings.Join(s.Command, " "), s.Cwd, s.Home}
	for k, v := range s.Labels {
		hay = append(hay, k+"="+v)
	}
	hay = append(hay, string(s.Attention.State))
	if s.Attention.State.NeedsPerson() {
		hay = append(hay, needsYou)
	}
	all := strings.ToLower(strings.Join(hay, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// describe takes over a record.
func describe(d home.Dir, m *home.Manifest) Session {
	return Session{
		Dir: d, ID: d.ID, Name: m.Name, Home: d.Home.Path, Status: m.Status, Failure: m.Failure,
		Command: home.ShownCommand(m.Command), Cwd: m.Cwd, Cols: m.Cols, Rows: m.Rows, Labels: m.Labels,
		Created: m.Created, Ended: m.Ended, ExitCode: m.ExitCode, ExitSignal: m.ExitSignal,
	}
}

// byRelevance puts active sessions first, then the newest.
func byRelevance(a, b Session) int {
	if x, y := a.Status.Active(), b.Status.Active(); x != y {
		if x {
			return -1
		}
		return 1
	}
	return strings.Compare(b.ID, a.ID) // ids sort by time
}

// keeperTag begins the names of agents' sessions. Those in pods have the name of
// the provider in it, too.
var keeperTag = lazy.Regexp{Expr: `^w[0-9a-f]{16}(-[a-z]+-x[0-9a-f]{10})?\.`}

// AgentSession returns a session's name without the tag by which a keeper knows
// its own, and whether there was one: the session is an agent's.
func AgentSession(name string) (short string, is bool) {
	tag := keeperTag.Get().FindString(name)
	return name[len(tag):], tag != ""
}
