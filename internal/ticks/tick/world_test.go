package tick_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/script"
	"den/internal/process/tree"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
	"den/internal/ticks/terminal"
	"den/internal/ticks/tick"
	"den/internal/ticks/toolsocket"
)

var den string // the binary that hosts sessions

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(child())
	}
	os.Exit(run(m))
}

// run builds den, and keeps its sockets and the shells' files apart from those of
// people.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-k-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // Best effort: a temporary directory.
	os.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("HOME", dir) // only now: the build's cache is below it
	return m.Run()
}

// world is one instance with a mind that the test plays.
type world struct {
	*testing.T
	root string // of all its files
	data string // the repository
	o    tick.Options
	logs *lines
	mind *puppet
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, func(string) {})
}

// newWorldWith is newWorld with a root that is prepared.
func newWorldWith(t *testing.T, prepare func(root string)) *world {
	t.Helper()
	w := &world{T: t, root: t.TempDir(), logs: &lines{}, mind: &puppet{}}
	w.data = filepath.Join(w.root, "data")
	prepare(w.root)
	w.put("system/agent_config.json", `{"runner": "puppet"}`)
	if err := w.open(w.root, w.mind, w.logs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.noSessions()
		w.o.Close()
		if t.Failed() {
			t.Log(w.logs.String())
		}
	})
	return w
}

// open makes the options of an instance below a root.
func (w *world) open(root string, mind runner.Driver, log *lines) error {
	getenv := func(key string) string {
		switch key {
		case "XDG_STATE_HOME":
			return filepath.Join(root, "state")
		case "XDG_CONFIG_HOME":
			return filepath.Join(root, "config")
		}
		return os.Getenv(key)
	}
	in, err := instance.Open(registry.Instance{Name: "demo", Path: filepath.Join(root, "data")}, getenv)
	if err != nil {
		return err
	}
	mark, err := tree.Mark("kernel", in.Dir.Path)
	if err != nil {
		return err
	}
	w.o = tick.Options{
		Instance: in, Drivers: map[string]runner.Driver{"puppet": mind, "script": script.Driver{}}, Spawn: local.Spawner{Mark: mark},
		Lodge: func(datarepo.Config) (tick.Lodging, error) {
			return tick.Lodging{Place: terminal.Native{
				Home: home.Home{Path: filepath.Join(root, "home"), Explicit: true}, Options: session.Options{Version: "test", Binary: den},
				Dir: filepath.Join(root, "data", "sandbox"), Env: append(os.Environ(), "PS1=$ ", "DATA_DIR="+filepath.Join(root, "data")),
			}}, nil
		},
		Tools: []string{"true"}, Den: den, Version: "test", Getenv: getenv, Clock: time.Now, Who: "tick",
		Log: slog.New(slog.NewTextHandler(log, nil)),
	}
	return nil
}

// put writes a file of the repository.
func (w *world) put(name, text string) {
	w.Helper()
	path := filepath.Join(w.data, name)
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	syscall.ForkLock.RLock() // a child of another test, just being started, must not have a script open that is run
	defer syscall.ForkLock.RUnlock()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		w.Fatal(err)
	}
}

// read returns a file of the repository, "" if it is missing.
func (w *world) read(name string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.data, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err)
	}
	return string(data)
}

// hooks writes a script into each directory of hooks that notes that it ran.
func (w *world) hooks() {
	w.put("system/hooks/pre-tick/10-a", "#!/bin/sh\necho \"pre-tick $AGENT_TICK\" >>\"$DATA_DIR/notes/ran\"\n")
	for _, name := range []string{"10-a", "20-b", "30-c"} {
		w.put("system/hooks/post-tick/"+name, "#!/bin/sh\necho \"post-tick $AGENT_TICK "+name+" $AGENT_TICK_STATUS $AGENT_TICK_REASON\" >>\"$DATA_DIR/notes/ran\"\n")
	}
}

// tick runs one and demands how it ends.
func (w *world) tick(want plan.Reason, causes ...plan.Cause) tick.Result {
	w.Helper()
	r, err := tick.Run(w.Context(), w.o, causes)
	if err != nil {
		w.Fatalf("%v\n%s", err, w.logs)
	}
	if r.Outcome.Reason != want {
		w.Fatalf("tick %d ended with %v, want %s\n%s", r.Tick, r.Outcome, want, w.logs)
	}
	return r
}

// noSessions demands that no terminal is left.
func (w *world) noSessions() {
	w.Helper()
	dirs, err := home.Home{Path: filepath.Join(w.root, "home")}.All()
	if err != nil {
		w.Error(err)
	}
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Active() {
			w.Errorf("the session %s is left", m.Name)
			s, err := session.Open(home.Home{Path: filepath.Join(w.root, "home"), Explicit: true}, m.ID, session.Options{Version: "test"})
			if err == nil {
				s.Kill(context.Background(), time.Second) // Best effort: the test has failed.
			}
		}
	}
}

// transcript is the transcript of a tick, one type and subtype a line.
func (w *world) transcript(number int) []string {
	w.Helper()
	var all []string
	for line := range strings.Lines(w.read(fmt.Sprintf("system/logs/tick-%03d.jsonl", number))) {
		var l struct{ Type, Subtype string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			w.Fatalf("%v in %q", err, line)
		}
		all = append(all, strings.TrimSpace(l.Type+" "+l.Subtype))
	}
	return all
}

// puppet is a mind that the test plays: one function for each turn, the last
// for all that follow.
type puppet struct {
	turns []func(*turn) (runner.Result, error)
	// opens fail in order; then they succeed.
	opens []error

	mu      sync.Mutex // guards the fields below
	opened  []runner.Options
	prompts []string
}

// turn is one that is played.
type turn struct {
	context.Context // ends when it is interrupted, or aborted
	prompt          string
	each            func(runner.Event)
	socket          string
}

// use calls a tool, as the agent does.
func (t *turn) use(tool string, arguments string) (string, error) {
	a, err := toolsocket.Use(context.WithoutCancel(t.Context), t.socket, "test", toolsocket.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "", err
	}
	if a.Failed {
		return a.Text, errors.New(a.Text)
	}
	return a.Text, nil
}

func (t *turn) say(text string) (runner.Result, error) {
	t.each(runner.Event{Kind: runner.Spoke, Message: runner.Say("puppet", text)})
	return runner.Result{Text: text, Usage: runner.Usage{InputTokens: 1, OutputTokens: 1}}, nil
}

func (p *puppet) Name() string { return "puppet" }

func (p *puppet) Open(_ context.Context, o runner.Options) (runner.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened = append(p.opened, o)
	if n := len(p.opened); n <= len(p.opens) && p.opens[n-1] != nil {
		return nil, p.opens[n-1]
	}
	return &puppetSession{puppet: p, options: o, done: make(chan struct{})}, nil
}

type puppetSession struct {
	puppet  *puppet
	options runner.Options
	done    chan struct{}
	once    sync.Once

	mu        sync.Mutex // guards interrupt
	interrupt context.CancelFunc
}

func (s *puppetSession) ID() string            { return "session-1" }
func (s *puppetSession) Done() <-chan struct{} { return s.done }

func (s *puppetSession) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	played, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.interrupt = cancel
	s.mu.Unlock()
	p := s.puppet
	p.mu.Lock()
	n := len(p.prompts)
	p.prompts = append(p.prompts, prompt)
	play := p.turns[min(n, len(p.turns)-1)]
	p.mu.Unlock()
	each(runner.Event{Kind: runner.Accepted})
	r, err := play(&turn{Context: played, prompt: prompt, each: each, socket: s.options.Env[toolsocket.Variable]})
	if ctx.Err() != nil {
		return runner.Result{}, ctx.Err()
	}
	if played.Err() != nil {
		return runner.Result{Text: r.Text, Cancelled: true}, nil
	}
	return r, err
}

func (s *puppetSession) Interrupt(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interrupt != nil {
		s.interrupt()
	}
	return nil
}

func (s *puppetSession) Close() runner.Exit {
	s.once.Do(func() { close(s.done) })
	return runner.Exit{}
}

func (p *puppet) prompt(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n >= len(p.prompts) {
		return ""
	}
	return p.prompts[n]
}

// well is a turn that does what a tick needs to end. A notification may need
// another turn, which finds the terminal closed.
func well(t *turn) (runner.Result, error) {
	told, err := t.use("login", "{}")
	if err != nil {
		return runner.Result{}, err
	}
	if strings.Contains(told, "Open terminals: none") {
		return t.say("done")
	}
	if _, err := t.use("close", `{"tty":0}`); err != nil {
		return runner.Result{}, fmt.Errorf("%w; login said: %s", err, told)
	}
	return t.say("done")
}
