package claude

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
	"den/internal/base/fault"
	"den/internal/base/poll"
)

// Name is what State.Source says.
const Name = "claude session file"

// every is how often the process is looked for without a change of its file.
const every = time.Second

// Options says whose state is read.
type Options struct {
	// ConfigDir is Claude Code's: $CLAUDE_CONFIG_DIR or ~/.claude.
	ConfigDir string
	// Processes lists the processes of the agent's session, parents first.
	Processes func(ctx context.Context) ([]int, error)
}

// Source reads the session file of the Claude Code among the processes.
type Source struct {
	*watch.Watch
	options Options
	reading watch.Reading[*turn]
	last    lastTurn

	mu    sync.Mutex // guards the field below
	found int        // the process whose file was read last, or 0
}

var _ conversation.Source = (*Source)(nil)

// Open begins to watch. The process need not run yet.
func Open(o Options) (*Source, error) {
	dir, err := watch.OpenDir(filepath.Join(o.ConfigDir, "sessions"))
	if err != nil {
		return nil, err
	}
	s := &Source{options: o, reading: watch.Reading[*turn]{New: newTurn, Apply: (*turn).applyLine}}
	s.Watch = watch.Start(watch.Options{Read: s.read, Dir: dir, Every: every})
	return s, nil
}

// Name says what is read.
func (*Source) Name() string { return Name }

// read finds the process once and then reads its file only.
func (s *Source) read(ctx context.Context) (conversation.State, error) {
	if f, err := s.fileOf(ctx, s.lastFound()); f != nil || err != nil {
		return s.stateOf(f, err)
	}
	pids, err := s.options.Processes(ctx)
	switch {
	case err != nil:
		return conversation.State{}, err
	case len(pids) == 0:
		return watch.Gone(Name), nil
	}
	for _, pid := range pids {
		if f, err := s.fileOf(ctx, pid); f != nil || err != nil {
			s.remember(pid)
			return s.stateOf(f, err)
		}
	}
	return conversation.State{Activity: conversation.Unknown, Why: "none of its processes has a session file", Source: Name}, nil
}

func (s *Source) stateOf(f *sessionFile, err error) (conversation.State, error) {
	if err != nil {
		return conversation.State{}, err
	}
	return s.withFailure(f), nil
}

// fileOf reads the file of a process with a screen: nil where it has none, or
// one that another process of that number left.
func (s *Source) fileOf(ctx context.Context, pid int) (*sessionFile, error) {
	if pid == 0 {
		return nil, nil
	}
	f, err := readFile(ctx, filepath.Join(s.options.ConfigDir, "sessions", strconv.Itoa(pid)+".json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil || startTime(string(stat)) != f.ProcStart || f.ProcStart == "" || f.Kind != "interactive" {
		return nil, nil // the process has ended, or is not the one that wrote it
	}
	return &f, nil
}

// Claude Code writes the file in place: one that is read meanwhile is empty or
// cut, and whole a moment later.
const (
	tornTries = 20
	tornPause = 5 * time.Millisecond
)

func readFile(ctx context.Context, path string) (sessionFile, error) {
	for try := 1; ; try++ {
		data, err := os.ReadFile(path)
		if err != nil {
			return sessionFile{}, fault.Errorf(fault.Storage, "read Claude Code's session file: %w", err)
		}
		f, err := parseFile(data)
		if err == nil || try == tornTries {
			return f, err
		}
		if err := poll.Pause(ctx, tornPause); err != nil {
			return f, err
		}
	}
}

func (s *Source) lastFound() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

func (s *Source) remember(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = pid
}

// lookBack is how much of a transcript's end is read for how its last turn
// ended.
const lookBack = 1 << 20

// lastTurn follows how the last turn of a session ended.
type lastTurn struct {
	mu      sync.Mutex // guards the fields below, and is held while the file is read
	session string
	tail    *watch.Tail // or nil
	failed  string      // what Claude Code said of its error, "" for none
}

// apply takes a line in: a pure function of what was read before and of it.
func (t *lastTurn) apply(line []byte) {
	e, err := parseEntry(line)
	if err != nil || e.Sidechain || e.Meta {
		return // one line that cannot be read does not hide the others
	}
	text, isText := e.Message.Content.text()
	switch {
	case e.Type == "assistant" && e.APIError:
		t.failed = text
	case e.Type == "assistant", e.Type == "user" && isText:
		t.failed = ""
	}
}

// read returns why the last turn of a session failed, "" where it did not.
func (t *lastTurn) read(session string, find func() (string, error)) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tail == nil || t.session != session {
		path, err := find()
		if err != nil {
			return "", err
		}
		tail, err := watch.TailFrom(path, lookBack)
		if err != nil {
			return "", err
		}
		t.session, t.tail, t.failed = session, tail, ""
	}
	err := t.tail.Read(func() { t.failed = "" }, t.apply)
	return t.failed, err
}

// withFailure is the state of a session file, with the error that its last turn
// ended in: the file calls that idle.
func (s *Source) withFailure(f *sessionFile) conversation.State {
	state := f.state()
	if state.Activity != conversation.Ready {
		return state
	}
	// Best effort: a session without a transcript has had no turn.
	failed, err := s.last.read(f.SessionID, func() (string, error) { return s.transcriptOf(f) })
	if err == nil && failed != "" {
		state.Activity, state.Why = conversation.TurnFailed, failed
	}
	return state
}
