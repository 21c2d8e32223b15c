package runnertest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/testkit/modelstub"
)

// patience is for a real agent on a busy machine. Nothing is measured by it.
const patience = 2 * time.Minute

// world is what a law runs in: an agent that is real or played, and a model.
type world struct {
	*testing.T
	b       Backend
	stub    *modelstub.Server // nil while a recording plays
	options runner.Options
	mark    string
	spawned *spawns

	mu   sync.Mutex // guards the fields below
	ask  func(context.Context, permission.Request) permission.Decision
	logs []string
}

// newWorld completes options that have Spawn, Command, Dir and Env.
func newWorld(t *testing.T, b Backend, stub *modelstub.Server, mark string, o runner.Options) *world {
	w := &world{T: t, b: b, stub: stub, mark: mark, spawned: &spawns{Spawner: o.Spawn}}
	w.ask = func(_ context.Context, r permission.Request) permission.Decision {
		t.Errorf("the agent asked for %+v", r)
		return permission.Decision{Reason: "nothing is allowed in this test"}
	}
	o.Spawn = w.spawned
	o.Ask = func(ctx context.Context, r permission.Request) permission.Decision {
		w.mu.Lock()
		ask := w.ask
		w.mu.Unlock()
		return ask(ctx, r)
	}
	// Rules that forbid nothing, as an agent has them in a harness.
	o.Check = func(permission.Request) (permission.Outcome, string) { return "", "" }
	o.Log = func(line string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.logs, line) { // a flood is one line
			w.logs = append(w.logs, line)
		}
	}
	if b.Options != nil {
		b.Options(&o)
	}
	w.options = o
	t.Cleanup(w.checkLeftovers)
	return w
}

func newRealWorld(t *testing.T, b Backend, l law) *world {
	stub := modelstub.Start(t)
	home := b.Home(t, stub)
	version, err := exec.Command(home.Program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", b.Driver.Name(), strings.TrimSpace(string(version)))
	mark := "runnertest-" + filepath.Base(filepath.Dir(home.Work))
	var spawn runner.Spawner = local.Spawner{Mark: mark, Env: home.Env}
	if os.Getenv("DEN_TEST_RECORD") == "1" {
		spawn = newRecorder(t, spawn, l.name, b, home, stub)
	}
	return newWorld(t, b, stub, mark, runner.Options{Spawn: spawn, Command: []string{home.Program}, Dir: home.Work})
}

func newPlayWorld(t *testing.T, b Backend, l law) *world {
	name := l.name
	if l.from != "" {
		name = l.from
	}
	dir, mark := t.TempDir(), "runnertest-"+b.Driver.Name()+"-"+l.name
	player := &player{mark: mark, name: name, script: playScript{Dir: dir, Bad: l.bad, Hostile: b.Hostile, EndOfTurn: b.EndOfTurn, Framed: b.Framed}}
	return newWorld(t, b, nil, mark, runner.Options{Spawn: player, Command: []string{b.Driver.Name()}, Dir: dir})
}

// checkLeftovers demands that no process of the agent's is left, and shows the
// log of a test that failed.
func (w *world) checkLeftovers() {
	left, err := local.Spawner{Mark: w.mark}.Clean(context.Background())
	if left > 0 || err != nil {
		w.Errorf("%d processes were left, %v", left, err)
	}
	if w.Failed() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Logf("log of the driver:\n%s", runner.Clip(strings.Join(w.logs, "\n")))
	}
}

// model gives the model its replies to a prompt. A recording has them already.
func (w *world) model(prompt string, replies ...modelstub.Reply) {
	if w.stub != nil {
		w.stub.When(modelstub.All(modelstub.Contains(prompt), modelstub.Offers(w.b.Tool)), replies...)
	}
}

// always gives the model one reply for ever: agents try again after errors.
func (w *world) always(prompt string, reply modelstub.Reply) {
	if w.stub != nil {
		w.stub.Always(modelstub.All(modelstub.Contains(prompt), modelstub.Offers(w.b.Tool)), reply)
	}
}

// decide sets how questions are answered.
func (w *world) decide(ask func(context.Context, permission.Request) permission.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ask = ask
}

func (w *world) logged(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(strings.Join(w.logs, "\n"), part)
}

// open opens a session, which is closed with the test.
func (w *world) open() runner.Session {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	s, err := w.b.Driver.Open(ctx, w.options)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

// resume opens a session again.
func (w *world) resume(id string) runner.Session {
	w.Helper()
	w.options.Resume = id
	return w.open()
}

// turned is a turn that is over.
type turned struct {
	events []runner.Event
	result runner.Result
	err    error
}

// turn runs a turn, with a handler of its events or nil.
func (w *world) turn(s runner.Session, prompt string, handle func(runner.Event)) turned {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	var t turned
	t.result, t.err = s.Turn(ctx, prompt, func(e runner.Event) {
		t.events = append(t.events, e)
		if handle != nil {
			handle(e)
		}
	})
	if errors.Is(t.err, context.DeadlineExceeded) {
		w.Fatalf("the turn %q does not end; events: %s", prompt, describe(t.events))
	}
	return t
}

// good runs a turn that must succeed.
func (w *world) good(s runner.Session, prompt string) turned {
	w.Helper()
	t := w.turn(s, prompt, nil)
	if t.err != nil || t.result.Cancelled {
		w.Fatalf("turn %q: %+v, %v; events: %s", prompt, t.result, t.err, describe(t.events))
	}
	return t
}

// fails demands that a turn has ended with a failure of a class, and says why.
func (w *world) fails(t turned, class runner.Class) {
	w.Helper()
	var f *runner.Failure
	if !errors.As(t.err, &f) {
		w.Fatalf("the turn ended with %+v, %v; want a failure; events: %s", t.result, t.err, describe(t.events))
	}
	if f.Class != class || f.Message == "" {
		w.Errorf("%+v, want the class %s", f, class)
	}
}

// cancelled demands that a turn was interrupted.
func (w *world) cancelled(t turned) {
	w.Helper()
	if t.err != nil || !t.result.Cancelled {
		w.Errorf("%+v, %v; events: %s", t.result, t.err, describe(t.events))
	}
}

// closes ends a session and demands the exit code of its process.
func (w *world) closes(s runner.Session, code int) {
	w.Helper()
	if exit := s.Close(); exit.Code != code {
		w.Errorf("closed with %+v, want %d", exit, code)
	}
}

// keepsID demands that a session is still the one that it was.
func (w *world) keepsID(s runner.Session, id string) {
	w.Helper()
	if s.ID() != id {
		w.Errorf("the session id changed from %s to %s", id, s.ID())
	}
}

// toldWhy demands that the model was told why something was denied. Only a real
// agent has a model.
func (w *world) toldWhy(reason string) {
	w.Helper()
	if !w.b.Reasons || w.stub == nil || w.Failed() {
		return
	}
	if _, err := w.stub.Await(w.Context(), modelstub.After(reason)); err != nil {
		w.Error(err)
	}
}

func (t turned) all(kind runner.EventKind) []runner.Event {
	var all []runner.Event
	for _, e := range t.events {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// texts are what the agent said, in order.
func (t turned) texts() []string {
	var all []string
	for _, e := range t.all(runner.Spoke) {
		if text := e.Message.Text(); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// uses are the uses of tools, in order.
func (t turned) uses() []runner.Block {
	var all []runner.Block
	for _, e := range t.all(runner.Spoke) {
		for _, b := range e.Message.Content {
			if b.Type == runner.BlockToolUse {
				all = append(all, b)
			}
		}
	}
	return all
}

func describe(events []runner.Event) string {
	var all []string
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			data = []byte(err.Error())
		}
		all = append(all, string(data))
	}
	return strings.Join(all, "\n")
}

// exists reports whether a file is in the agent's directory. A recording makes
// none: then it reports what is wanted.
func (w *world) exists(file string, want bool) bool {
	if w.stub == nil {
		return want
	}
	_, err := os.Stat(filepath.Join(w.options.Dir, file))
	return err == nil
}

// write makes a file in the agent's directory.
func (w *world) write(file, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.options.Dir, file), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// asked demands that the model got a prompt together with something that was
// said before. Only a real agent has a model.
func (w *world) asked(prompt, earlier string) {
	w.Helper()
	if w.stub == nil {
		return
	}
	r, err := w.stub.Await(w.Context(), modelstub.All(modelstub.Contains(prompt), modelstub.Offers(w.b.Tool)))
	if err != nil || !strings.Contains(string(r.Body), earlier) {
		w.Errorf("the model was asked without %q: %v", earlier, err)
	}
}

// kill ends the agent as the kernel does when memory runs out.
func (w *world) kill() {
	w.Helper()
	if err := w.spawned.last().Signal(syscall.SIGKILL); err != nil {
		w.Error(err)
	}
}
