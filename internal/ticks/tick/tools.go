package tick

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/base/rpc"
	"den/internal/session/home"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
	"den/internal/ticks/terminal"
	"den/internal/ticks/toolsocket"
)

// tools are the agent's, on a socket while the tick runs.
type tools struct {
	tick     *tick
	socket   string
	listener *net.UnixListener // or nil: nothing is served

	mu      sync.Mutex    // guards the fields below
	set     *terminal.Set // or nil: no tool was used yet
	closed  bool
	notices []string // to tell at login
	calls   int
	asking  map[string]chan []plan.Notice // calls that may carry notices
	roused  chan struct{}                 // closed when a wait is to return
}

func newTools(t *tick) *tools {
	return &tools{tick: t, asking: map[string]chan []plan.Notice{}, roused: make(chan struct{})}
}

// listen opens the socket. Calls wait until it is served.
func (w *tools) listen() error {
	var err error
	if w.socket, err = home.RunPath("kernel-tools\x00"+w.tick.o.Dir.Path, w.tick.o.Getenv); err != nil {
		return err
	}
	w.listener, err = rpc.Listen(w.socket)
	return err
}

// serve answers calls until the context ends.
func (w *tools) serve(ctx context.Context) {
	toolsocket.NewServer(w.tick.o.Version, w.call).Serve(ctx, w.listener)
	os.Remove(w.socket) // Best effort: the next tick replaces it.
}

// servers is how the agent's program reaches the tools.
func (w *tools) servers() []runner.ToolServer {
	return []runner.ToolServer{{Name: serverName, Command: w.tick.o.Tools, Env: map[string]string{toolsocket.Variable: w.socket}}}
}

// call answers one use of a tool. What a tool refuses is an answer, too.
func (w *tools) call(ctx context.Context, c toolsocket.Call) (toolsocket.Answer, error) {
	w.tick.live(c.Tool)
	w.tick.mind.worked()
	a, err := w.use(ctx, c)
	if ctx.Err() != nil {
		return toolsocket.Answer{}, ctx.Err()
	}
	if err != nil {
		a = toolsocket.Answer{Text: "Error: " + withHint(err), Failed: true}
	}
	if told := w.carry(ctx); len(told) > 0 {
		a.Text += "\n\n" + plan.NoticesText(told)
	}
	if w.tick.isScript() {
		w.tick.transcript.tool(c, a) // nobody else tells
	}
	return a, nil
}

// texter is an answer of a terminal's tool.
type texter interface{ Text() string }

func (w *tools) use(ctx context.Context, c toolsocket.Call) (toolsocket.Answer, error) {
	set, err := w.terminals()
	if err != nil {
		return toolsocket.Answer{}, err
	}
	switch c.Tool {
	case "login":
		return answer(c, func(struct{}) (texter, error) { return set.Login(ctx) })
	case "open":
		return answer(c, func(a terminal.OpenArgs) (texter, error) { return set.Open(ctx, a) })
	case "type":
		return answer(c, func(a terminal.TypeArgs) (texter, error) { return set.Type(ctx, a) })
	case "wait":
		return answer(c, func(a terminal.WaitArgs) (texter, error) {
			a.Interrupt = w.interrupted()
			return set.Wait(ctx, a)
		})
	case "close":
		return answer(c, func(a terminal.CloseArgs) (texter, error) { return set.Close(ctx, a) })
	}
	return toolsocket.Answer{}, fault.Hintf(fault.Errorf(fault.NotFound, "there is no tool '%s'", c.Tool), "there are login, open, type, wait and close")
}

// answer decodes the arguments of a call, and makes an answer of a tool's.
func answer[A any](c toolsocket.Call, use func(A) (texter, error)) (toolsocket.Answer, error) {
	var a A
	if len(c.Arguments) > 0 {
		d := json.NewDecoder(bytes.NewReader(c.Arguments))
		d.DisallowUnknownFields() // a misspelt argument must not be ignored
		if err := d.Decode(&a); err != nil {
			return toolsocket.Answer{}, fault.Errorf(fault.Usage, "the arguments of %s are not understood: %w", c.Tool, err)
		}
	}
	said, err := use(a)
	if err != nil {
		return toolsocket.Answer{}, err
	}
	value, err := json.Marshal(said)
	if err != nil {
		return toolsocket.Answer{}, fmt.Errorf("encode the answer of %s: %w", c.Tool, err)
	}
	return toolsocket.Answer{Text: said.Text(), Value: value}, nil
}

// terminals returns the tick's terminals.
func (w *tools) terminals() (*terminal.Set, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fault.Errorf(fault.NotRunning, "the tick ends")
	}
	if w.set == nil {
		set, err := w.newSet()
		if err != nil {
			return nil, err
		}
		w.set = set
	}
	return w.set, nil
}

func (w *tools) newSet() (*terminal.Set, error) {
	t := w.tick
	listed, err := t.o.Repo.Startup()
	if err != nil {
		w.notices = append(w.notices, withHint(err)) // the agent can correct the file
		listed = datarepo.DefaultStartup()
	}
	return terminal.New(terminal.Config{
		Name: t.o.Name, Data: t.o.Repo.Path(), State: t.o.Dir.Path, Tick: t.number, Startup: listed, Place: t.lodging.Place, Notices: w.notices,
		Warn: func(err error) { t.o.Log.Warn("terminals", "error", err) }, Record: t.indexTerminal,
	})
}

// notice is for the agent when it logs in.
func (w *tools) notice(text string) {
	if text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, text)
}

// carry asks the loop for what the agent should be told with this answer.
func (w *tools) carry(ctx context.Context) []plan.Notice {
	told := make(chan []plan.Notice, 1) // room for the one answer: the loop does not wait
	w.mu.Lock()
	w.calls++
	id := strconv.Itoa(w.calls)
	w.asking[id] = told
	w.mu.Unlock()
	w.tick.send(plan.Event{Kind: plan.Answering, Call: id})
	select {
	case notices := <-told:
		return notices
	case <-w.tick.done:
	case <-ctx.Done():
	}
	return nil
}

// tell answers carry. more is that there is more to tell.
func (w *tools) tell(call string, notices []plan.Notice, more bool) {
	w.mu.Lock()
	told := w.asking[call]
	delete(w.asking, call)
	w.mu.Unlock()
	if told == nil {
		return
	}
	if !more { // before the answer: a wait that follows it must not return at once
		w.calm()
	}
	told <- notices
}

// rouse has tools that wait return: there is something to tell. It lasts until
// all of it was told, so that a wait that begins later returns, too.
func (w *tools) rouse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.roused: // it is already
	default:
		close(w.roused)
	}
}

// calm ends rouse.
func (w *tools) calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.roused:
		w.roused = make(chan struct{})
	default:
	}
}

// interrupted is closed when a wait is to return.
func (w *tools) interrupted() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roused
}

func (w *tools) loggedIn() bool {
	set := w.opened()
	return set != nil && set.LoggedIn()
}

func (w *tools) live() []int {
	if set := w.opened(); set != nil {
		return set.Live()
	}
	return nil
}

func (w *tools) opened() *terminal.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set
}

// close closes all terminals. Those of a tick whose process was killed are
// found by what it recorded.
func (w *tools) close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	set := w.set
	w.mu.Unlock()
	if set == nil {
		var err error
		if set, err = w.newSet(); err != nil {
			return err
		}
	}
	var left error
	if !set.LoggedIn() {
		left = closeLeft(ctx, set)
	}
	return errors.Join(left, set.CloseAll(ctx), set.Detach())
}

// startLimit is how long a session may take to start that was being started
// when its tick was killed.
const startLimit = 20 * time.Second

// closeLeft closes what a tick left that was killed. A session that was about
// to start then cannot be reached at once.
func closeLeft(ctx context.Context, set *terminal.Set) error {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var last error
	err := poll.Every(limited, time.Second, func() (bool, error) {
		_, last = set.CloseLeft(ctx)
		return fault.KindOf(last) != fault.Unreachable, nil
	})
	if err != nil && last == nil {
		return err
	}
	return last
}

// live shows what the agent does, for people and the agent's own tools.
func (t *tick) live(tool string) {
	t.report("show what the agent does", t.o.Repo.SetLiveStatus(datarepo.LiveStatus{Tick: t.number, Tool: tool, Updated: t.o.Clock()}))
}

// serverName is that of the tools, as models see it: mcp__agent__login.
const serverName = "agent"

// policy decides what the agent may do by itself: its own tools, and files in
// the data repository. Nobody is there to be asked, so what would be asked for
// is denied.
func (t *tick) policy() (func(context.Context, permission.Request) permission.Decision, error) {
	rules := []permission.Rule{
		{Outcome: permission.Allow, Tool: "Skill"},
		{Outcome: permission.Deny, Kind: permission.Execute, Why: "commands are typed into a terminal"},
	}
	for _, name := range toolNames() {
		rules = append(rules, permission.Rule{Outcome: permission.Allow, Tool: name})
	}
	p, err := permission.NewPolicy(permission.Settings{
		Dir: t.o.Repo.Path(), Home: t.o.Getenv("HOME"), Protected: []string{t.o.Dir.Path}, Rules: rules,
	})
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, r permission.Request) permission.Decision {
		outcome, why := p.Decide(r)
		if outcome == permission.Allow {
			return permission.Decision{Allow: true}
		}
		t.o.Log.Info("denied", "tool", r.Tool, "why", why)
		return permission.Decision{Reason: why + "; nobody can be asked within a tick"}
	}, nil
}

// toolNames are what agents call the tick's tools when they ask for permission:
// each vendor joins the names of server and tool in its own way, and codex names
// the server alone.
func toolNames() []string {
	names := []string{"mcp__" + serverName, "mcp__" + serverName + "__*"}
	for _, t := range toolsocket.Tools {
		for _, join := range []string{"_", "-", "__", "."} {
			names = append(names, serverName+join+t.Name)
		}
		names = append(names, "mcp_"+serverName+"_"+t.Name, t.Name+" ("+serverName+" MCP Server)*")
	}
	return names
}

// mindEnv is what the agent's program has in its environment.
func (t *tick) mindEnv() map[string]string {
	return map[string]string{
		"DATA_DIR": t.o.Repo.Path(), toolsocket.Variable: t.tools.socket,
		"PATH": filepath.Dir(t.o.Den) + string(os.PathListSeparator) + t.o.Getenv("PATH"),
	}
}
