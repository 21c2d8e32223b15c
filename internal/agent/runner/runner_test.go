package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/script"
	"den/internal/base/fault"
)

// heard is a Listener that remembers.
type heard struct {
	mu     sync.Mutex
	begun  []string
	ended  []string // "id: text" or "id! failure"
	exits  []int
	gaveUp []string
	change chan struct{}
}

func newHeard() *heard { return &heard{change: make(chan struct{}, 1000)} }

func (h *heard) note(f func()) {
	h.mu.Lock()
	f()
	h.mu.Unlock()
	h.change <- struct{}{}
}

func (h *heard) TurnBegan(p runner.Prompt, _ int)     { h.note(func() { h.begun = append(h.begun, p.ID) }) }
func (h *heard) Happened(runner.Prompt, runner.Event) {}
func (h *heard) TurnEnded(p runner.Prompt, o runner.Outcome) {
	h.note(func() {
		if o.Failure != nil {
			h.ended = append(h.ended, p.ID+"! "+o.Failure.Error())
			return
		}
		h.ended = append(h.ended, p.ID+": "+o.Result.Text)
	})
}
func (h *heard) Interrupted(p runner.Prompt, f *runner.Failure, _ time.Time) {
	h.note(func() { h.ended = append(h.ended, p.ID+"~ "+f.Error()) })
}
func (h *heard) GaveUp(f *runner.Failure, _ time.Time) {
	h.note(func() { h.gaveUp = append(h.gaveUp, f.Error()) })
}
func (h *heard) Exited(e runner.Exit) { h.note(func() { h.exits = append(h.exits, e.Code) }) }

// await returns what ended once n messages have.
func (h *heard) await(t *testing.T, n int) []string {
	t.Helper()
	for {
		h.mu.Lock()
		ended := append([]string(nil), h.ended...)
		h.mu.Unlock()
		if len(ended) >= n {
			return ended
		}
		select {
		case <-h.change:
		case <-t.Context().Done():
			t.Fatalf("%d of %d ended: %q", len(ended), n, ended)
		}
	}
}

// awaitBegun returns when n turns have begun.
func (h *heard) awaitBegun(t *testing.T, n int) {
	t.Helper()
	for {
		h.mu.Lock()
		begun := len(h.begun)
		h.mu.Unlock()
		if begun >= n {
			return
		}
		<-h.change
	}
}

func config(t *testing.T, dir, shell string, h *heard) runner.Config {
	t.Helper()
	return runner.Config{
		Dir: dir, Driver: script.Driver{}, Listener: h,
		Options: runner.Options{
			Spawn: local.Spawner{Mark: t.Name()}, Command: []string{"sh", "-c", shell}, Dir: t.TempDir(),
			Ask: permissionDenied, Log: func(line string) { t.Log(line) },
		},
	}
}

func start(t *testing.T, c runner.Config) *runner.Runner {
	t.Helper()
	r, err := runner.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// Messages are answered in order, one turn each, whatever their number.
func TestPromptsInOrder(t *testing.T) {
	h := newHeard()
	r := start(t, config(t, t.TempDir(), `read x; echo "heard $x"`, h))
	var want []string
	for _, id := range []string{"a", "b", "c", "d"} {
		if receipt, err := r.SendPrompt(runner.Prompt{ID: id, Text: "text " + id, Route: "r"}); err != nil || receipt.Progress != conversation.Queued {
			t.Fatalf("%+v, %v", receipt, err)
		}
		want = append(want, id+": heard text "+id)
	}
	if got := h.await(t, 4); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
	if receipt, found, err := r.Confirm(t.Context(), "b"); !found || err != nil || receipt.Progress != conversation.Answered {
		t.Errorf("%+v, %v, %v", receipt, found, err)
	}
	if _, err := r.SendPrompt(runner.Prompt{ID: "b", Text: "text b"}); err != nil {
		t.Errorf("the same message again: %v", err)
	}
	if len(r.Undelivered()) != 4 {
		t.Errorf("undelivered: %d", len(r.Undelivered()))
	}
	if err := r.Delivered("b"); err != nil || len(r.Undelivered()) != 3 {
		t.Errorf("%v, undelivered: %d", err, len(r.Undelivered()))
	}
}

// endings is a Listener that looks at the agent when a turn ends.
type endings struct {
	*heard
	look func()
}

func (e endings) TurnEnded(p runner.Prompt, o runner.Outcome) {
	e.look()
	e.heard.TurnEnded(p, o)
}

// Who is told that a turn has ended is told after the end: the state says when
// that was, so that nobody takes it for news later.
func TestTurnEndsBeforeItIsTold(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), `read x; echo "heard $x"`, h)
	var r *runner.Runner
	var ended conversation.State
	var told time.Time
	c.Listener = endings{h, func() {
		ended, _ = r.State(t.Context())
		told = time.Now()
	}}
	r = start(t, c)
	sent := time.Now()
	if _, err := r.SendPrompt(runner.Prompt{ID: "a", Text: "text"}); err != nil {
		t.Fatal(err)
	}
	h.await(t, 1)
	if ended.Activity != conversation.Ready || ended.Since.Before(sent) || ended.Since.After(told) {
		t.Errorf("the state is %+v, sent at %v, told at %v", ended, sent, told)
	}
}

// A message whose turn was cut off by a stop is told as such, once; the queue
// behind it is kept, and the session is the same.
func TestResumeAfterStop(t *testing.T) {
	dir, h := t.TempDir(), newHeard()
	block := filepath.Join(t.TempDir(), "block")
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, dir, `x=$(cat); if [ -e `+block+` ]; then sleep 1000; fi; echo "$DEN_MIND_SESSION $x"`, h)
	c.Grace = time.Millisecond
	r := start(t, c)
	for _, id := range []string{"first", "second"} {
		if _, err := r.SendPrompt(runner.Prompt{ID: id, Text: "do " + id}); err != nil {
			t.Fatal(err)
		}
	}
	h.awaitBegun(t, 1)
	session := r.SessionID()
	r.Stop()
	if r.Running() || session == "" {
		t.Errorf("running %v, session %q", r.Running(), session)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	h2 := newHeard()
	c.Listener = h2
	again := start(t, c)
	got := h2.await(t, 2)
	if !strings.Contains(got[0], "cut off before it ended (den was restarted)") || !strings.Contains(got[0], "> do first") || !strings.Contains(got[0], session) {
		t.Errorf("first: %q", got[0])
	}
	if got[1] != "second: "+session+" do second" {
		t.Errorf("second: %q", got[1])
	}
	if again.SessionID() != session {
		t.Errorf("session %s became %s", session, again.SessionID())
	}
}

// Silence ends a turn; work does not, however long it takes.
func TestSilence(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), `x=$(cat); case $x in *quiet*) sleep 1000;; esac; for i in $(seq 50); do echo .; sleep 0.05; done`, h)
	c.Silence, c.Grace = 2*time.Second, 50*time.Millisecond
	r := start(t, c)
	if _, err := r.SendPrompt(runner.Prompt{ID: "w", Text: "work"}); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, 1); !strings.HasPrefix(got[0], "w: .") {
		t.Errorf("%q", got)
	}
	if _, err := r.SendPrompt(runner.Prompt{ID: "q", Text: "quiet"}); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, 2); !strings.HasPrefix(got[1], "q~ silent: ") {
		t.Errorf("%q", got)
	}
}

func TestCancel(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), `sleep 1000`, h)
	r := start(t, c)
	if err := r.Cancel(); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("cancelled nothing: %v", err)
	}
	if _, err := r.SendPrompt(runner.Prompt{ID: "long", Text: "long"}); err != nil {
		t.Fatal(err)
	}
	h.awaitBegun(t, 1)
	if s, _ := r.State(t.Context()); s.Activity != conversation.Busy {
		t.Errorf("%+v", s)
	}
	if err := r.Cancel(); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, 1); got[0] != "long: " {
		t.Errorf("%q", got)
	}
	if r.Pending() != 0 {
		t.Errorf("pending: %d", r.Pending())
	}
}

// A pause holds over a restart, and nothing is lost by it.
func TestPause(t *testing.T) {
	dir, h := t.TempDir(), newHeard()
	c := config(t, dir, `cat`, h)
	r := start(t, c)
	if err := r.Pause("asleep"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SendPrompt(runner.Prompt{ID: "m", Text: "later"}); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	again := start(t, c)
	if again.Paused() != "asleep" || again.Pending() != 1 {
		t.Fatalf("paused %q, pending %d", again.Paused(), again.Pending())
	}
	if err := again.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, 1); got[0] != "m: later" {
		t.Errorf("%q", got)
	}
}

// A turn that fails for a reason that waiting does not mend ends its message.
func TestFailedTurn(t *testing.T) {
	h := newHeard()
	r := start(t, config(t, t.TempDir(), `echo broken >&2; exit 3`, h))
	if _, err := r.SendPrompt(runner.Prompt{ID: "m", Text: "try"}); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, 1); got[0] != "m! bug: exit code 3 broken" {
		t.Errorf("%q", got)
	}
	if s, _ := r.State(t.Context()); s.Activity != conversation.TurnFailed || !strings.Contains(s.Why, "broken") {
		t.Errorf("%+v", s)
	}
}

func TestStartAndStopAreBounded(t *testing.T) {
	h := newHeard()
	c := config(t, t.TempDir(), `trap '' TERM; sleep 1000`, h)
	c.Grace = 10 * time.Millisecond
	r := start(t, c)
	if err := r.Start(t.Context(), ""); fault.KindOf(err) != fault.Busy {
		t.Errorf("started twice: %v", err)
	}
	if _, err := r.SendPrompt(runner.Prompt{ID: "m", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	h.awaitBegun(t, 1)
	r.Stop()
	r.Stop()
	if s, _ := r.State(t.Context()); s.Activity != conversation.Gone {
		t.Errorf("%+v", s)
	}
	if len(h.exits) != 1 || h.exits[0] != 0 {
		t.Errorf("exits %v", h.exits)
	}
}

// waiting is an agent that names its session when it has the prompt, and then
// announces a long pause before it would try again. For what is forbidden it
// has no words.
type waiting struct{ begun chan struct{} }

func (waiting) Name() string { return "waiting" }

func (w waiting) Open(_ context.Context, o runner.Options) (runner.Session, error) {
	return &waitingSession{waiting: w, id: o.Resume, interrupted: make(chan struct{}, 1), done: make(chan struct{})}, nil
}

type waitingSession struct {
	waiting
	mu          sync.Mutex
	id          string
	interrupted chan struct{} // room for the one that a test needs
	done        chan struct{}
}

func (s *waitingSession) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

func (s *waitingSession) Interrupt(context.Context) error {
	s.interrupted <- struct{}{}
	return nil
}

func (s *waitingSession) Done() <-chan struct{} { return s.done }
func (s *waitingSession) Close() runner.Exit    { return runner.Exit{} }

func (s *waitingSession) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	s.mu.Lock()
	s.id = "the session"
	s.mu.Unlock()
	each(runner.Event{Kind: runner.Accepted})
	if strings.Contains(prompt, "cut off before it ended (quota: used up)") {
		return runner.Result{Text: "after the pause"}, nil
	}
	if strings.Contains(prompt, "forbidden") {
		each(runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{Failed: true, Denied: true}})
		return runner.Result{}, nil
	}
	each(runner.Event{Kind: runner.Retrying, Failure: &runner.Failure{Class: runner.Overload, RetryAfter: time.Second}})
	each(runner.Event{Kind: runner.Retrying, Failure: &runner.Failure{Class: runner.Quota, Message: "used up", RetryAfter: time.Hour}})
	s.begun <- struct{}{}
	select {
	case <-s.interrupted:
		return runner.Result{Cancelled: true}, nil
	case <-ctx.Done():
		return runner.Result{}, ctx.Err()
	}
}

// A long pause is not left to the agent, which would seem to hang: the failure
// is told as what it is, and a person can have it tried again at once.
func TestLongPauseIsAFailure(t *testing.T) {
	h, w := newHeard(), waiting{begun: make(chan struct{}, 1)}
	c := config(t, t.TempDir(), "", h)
	c.Driver = w
	r := start(t, c)
	if _, err := r.SendPrompt(runner.Prompt{ID: "m", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, 1); got[0] != "m~ quota: used up" {
		t.Errorf("%q", got)
	}
	if s, _ := r.State(t.Context()); s.Activity != conversation.TurnFailed || !strings.Contains(s.Why, "quota: used up") {
		t.Errorf("%+v", s)
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, 2); got[1] != "m: after the pause" {
		t.Errorf("%q", got)
	}
}

// The session's id is on disk as soon as the agent has told it: den may be
// killed within the first turn.
func TestSessionIDIsKeptWithinATurn(t *testing.T) {
	h, w, dir := newHeard(), waiting{begun: make(chan struct{}, 1)}, t.TempDir()
	c := config(t, dir, "", h)
	c.Driver = w
	r := start(t, c)
	if _, err := r.SendPrompt(runner.Prompt{ID: "m", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	<-w.begun
	if data, err := os.ReadFile(filepath.Join(dir, "runner.json")); err != nil || !strings.Contains(string(data), `"the session"`) {
		t.Errorf("%s, %v", data, err)
	}
}

// Who asked an agent that ends its turn because something was denied is told
// that, and not nothing.
func TestDeniedWithoutWords(t *testing.T) {
	h, w := newHeard(), waiting{begun: make(chan struct{}, 1)}
	c := config(t, t.TempDir(), "", h)
	c.Driver = w
	r := start(t, c)
	if _, err := r.SendPrompt(runner.Prompt{ID: "m", Text: "something forbidden", Route: "r"}); err != nil {
		t.Fatal(err)
	}
	h.await(t, 1)
	if all := r.Undelivered(); len(all) != 1 || all[0].Answer != "" || !strings.Contains(all[0].Reason, "not allowed") {
		t.Errorf("%+v", all)
	}
}

func permissionDenied(context.Context, permission.Request) permission.Decision {
	return permission.Decision{Reason: "nobody is there"}
}
