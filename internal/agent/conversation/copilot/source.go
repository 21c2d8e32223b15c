package copilot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/agent/runner/copilot/wire"
	"den/internal/base/fault"
)

// Name is what State.Source says.
const Name = "copilot session files"

// every is how often the process is looked for without a change of a file.
const every = time.Second

// Options says whose state is read.
type Options struct {
	// Home is Copilot's: $COPILOT_HOME or ~/.copilot.
	Home string
	// Processes lists the processes of the agent's session.
	Processes func(ctx context.Context) ([]int, error)
}

// Source reads the files of the session that one of the processes uses.
type Source struct {
	*watch.Watch
	options Options
	dir     *watch.Dir
	reading watch.Reading[*turn]

	mu     sync.Mutex // guards the field below, and is held while files are read
	events *tail      // or nil while no session is found
}

var _ conversation.Source = (*Source)(nil)

// Open begins to watch. The process need not run yet.
func Open(o Options) (*Source, error) {
	dir, err := watch.OpenDir(o.Home)
	if err != nil {
		return nil, err
	}
	s := &Source{options: o, dir: dir, reading: watch.Reading[*turn]{New: newTurn, Apply: (*turn).applyLine}}
	s.Watch = watch.Start(watch.Options{Read: s.read, Dir: dir, Every: every})
	return s, nil
}

// Name says what is read.
func (*Source) Name() string { return Name }

func (s *Source) read(ctx context.Context) (conversation.State, error) {
	pids, err := s.options.Processes(ctx)
	switch {
	case err != nil:
		return conversation.State{}, err
	case len(pids) == 0:
		return watch.Gone(Name), nil
	}
	session, err := s.sessionOf(pids)
	if err != nil {
		return conversation.State{}, err
	}
	if session == "" {
		return conversation.State{Activity: conversation.Unknown, Why: "none of its processes has a session", Source: Name}, nil
	}
	// The state file is read first: what the events tell then is no older.
	data, err := os.ReadFile(filepath.Join(s.options.Home, "open-sessions-state.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return conversation.State{}, fault.Errorf(fault.Storage, "read Copilot's state: %w", err)
	}
	working, open := false, false
	if err == nil {
		if working, open, err = workingOf(data, filepath.Base(session)); err != nil {
			return conversation.State{}, err
		}
	}
	if !open {
		return conversation.State{Activity: conversation.Unknown, Why: "its session is not among the open ones", Source: Name}, nil
	}
	return s.joined(session, working)
}

// joined reads the session's events and joins them with the state.
func (s *Source) joined(session string, working bool) (conversation.State, error) {
	if err := s.dir.Add(session); err != nil {
		return conversation.State{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := filepath.Join(session, "events.jsonl")
	if s.events == nil || s.events.Path != path {
		s.events = &tail{Tail: watch.Tail{Path: path}}
	}
	if err := s.events.update(); err != nil && !errors.Is(err, fs.ErrNotExist) { // it comes with the first event
		return conversation.State{}, err
	}
	return s.events.model.state(working), nil
}

// sessionOf finds the directory of the session that one of the processes holds:
// the one taken last, where there are several. "" means none.
func (s *Source) sessionOf(pids []int) (string, error) {
	found, at := "", time.Time{}
	for _, pid := range pids {
		locks, err := filepath.Glob(filepath.Join(s.options.Home, "session-state", "*", "inuse."+strconv.Itoa(pid)+".lock"))
		if err != nil {
			return "", fault.Errorf(fault.Internal, "find Copilot's session: %w", err)
		}
		for _, lock := range locks {
			if fi, err := os.Stat(lock); err == nil && !fi.ModTime().Before(at) {
				found, at = filepath.Dir(lock), fi.ModTime()
			}
		}
	}
	return found, nil
}

// tail follows the events of a session.
type tail struct {
	watch.Tail
	model model
}

// update applies the lines that were added.
func (t *tail) update() error {
	return t.Read(func() { t.model = model{} }, func(line []byte) {
		if e, err := wire.Parse(line); err == nil { // one line that cannot be read does not hide the others
			t.model.apply(e)
		}
	})
}
