package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"den/internal/agent/budget"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/turns"
	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/supervisor"
	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/rpc"
	"den/internal/base/wake"
	"den/internal/process/tree"
)

// Options makes a Harness.
type Options struct {
	Config   Config
	StateDir string
	Driver   runner.Driver
	Spawn    runner.Spawner
	// Connect joins the channels; nil for none.
	Connect func(ctx context.Context, c Config, since func(target string) (ipc.Line, bool), hearer Hearer, logf func(string, ...any), getenv func(string) string) (Chat, error)
	// Relay brings clients from where the agent lives, if its socket there is not
	// this machine's (see Box.Socket), until the context ends; or nil. It tells of
	// trouble and goes on.
	Relay func(ctx context.Context, serve func(net.Conn), trouble func(error))
	// Judge is the supervisor's; nil for fixed rules.
	Judge  supervisor.Judge
	Screen *Screen
	Getenv func(string) string
	Clock  func() time.Time
	// Idle is how long the agent must have had nothing to do before its work
	// counts as complete; 0 means 15 seconds.
	Idle time.Duration
}

// Harness runs one agent.
type Harness struct {
	config   Config
	stateDir string
	options  Options
	screen   *Screen
	clock    func() time.Time

	runner   *runner.Runner
	broker   *permission.Broker
	over     oversight
	buffer   *buffer
	awake    *wakeUp
	chat     Chat // nil without channels
	peers    peers
	channels *channels
	rooms    gathering
	owner    ownerQuestions
	work     *workload // nil where nobody is told of its end
	turnLog  *turns.Log
	server   *ipc.Server
	active   *tree.Activity

	end        context.CancelFunc
	background sync.WaitGroup // messages that nobody waits for
	joined     chan struct{}  // closed when chat is set
	delivered  wake.Signal    // room for one token: an answer may be deliverable

	started time.Time
	tried   string // the answer that was last sent; the deliverer's own

	toldWaiting string       // the wait that somebody was told of last; the listener's own
	toldFailure string       // as well, of a failure that needs a person
	counted     budget.Usage // what the running attempt has spent; the listener's own

	mu      sync.Mutex        // guards the fields below
	said    string            // the first line of the agent's last words
	task    string            // that of the prompt of a turn in which it has said nothing yet, or ""
	turnNow string            // the id of the turn that runs, or ""
	askedIn map[string]string // the turns of approvals that wait, by their ids
	asking  []*asker          // irc_ask requests that wait
	turns   map[string][]chan runner.Outcome
}

// Run runs a harness until the context ends or somebody shuts it down.
func Run(ctx context.Context, o Options) error {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	lock, err := filelock.Try(filepath.Join(o.StateDir, "harness.lock"))
	if err != nil {
		return fault.Hintf(fault.Errorf(fault.Busy, "agent '%s' has a harness already: %w", o.Config.Agent, err), "'den ps' shows it")
	}
	defer lock.Close() // Best effort: the process ends.
	ctx, end := context.WithCancel(ctx)
	defer end()
	h := &Harness{
		config: o.Config, stateDir: o.StateDir, options: o, screen: o.Screen, clock: o.Clock, end: end, started: o.Clock(),
		joined: make(chan struct{}), delivered: wake.New(), active: tree.NewActivity(), turns: map[string][]chan runner.Outcome{}, askedIn: map[string]string{},
		rooms: newGathering(), owner: newOwnerQuestions(),
	}
	return h.run(ctx)
}

// run starts the parts in order, and ends them in the opposite order.
func (h *Harness) run(ctx context.Context) (err error) {
	if h.buffer, err = openBuffer(filepath.Join(h.stateDir, "messages"), h.config.BufferSize); err != nil {
		return err
	}
	defer h.buffer.close()
	if h.awake, err = openWakeUp(h.stateDir); err != nil {
		return err
	}
	if h.channels, err = openChannels(filepath.Join(h.stateDir, "places.json")); err != nil {
		return err
	}
	if h.turnLog, err = turns.Open(h.stateDir); err != nil {
		return err
	}
	if h.runner, err = h.newRunner(); err != nil {
		return err
	}
	if h.broker, err = h.openBroker(); err != nil {
		return err
	}
	if err := h.openOversight(); err != nil {
		return err
	}
	if err := h.openWork(); err != nil {
		return err
	}
	// Whoever sees the agent in a channel can connect to its socket.
	l, closeSocket, err := h.listen()
	if err != nil {
		return err
	}
	defer closeSocket()
	if err := h.join(ctx); err != nil {
		return err
	}
	if h.chat != nil {
		defer h.chat.Close()
	}
	defer h.background.Wait()
	defer h.serve(ctx, l)() // waits
	if err := h.runner.Start(ctx, h.firstPrompt()); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	defer h.runner.Stop()
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { h.watchOver(ctx) })
	parts.Go(func() { h.active.Rest(ctx.Done(), restAfter, nil, nil, nil) })
	parts.Go(func() { h.deliverAnswers(ctx) })
	if h.chat != nil {
		parts.Go(func() { h.gather(ctx) })
		parts.Go(func() { h.askOwners(ctx) })
	}
	if h.work != nil {
		parts.Go(func() { h.watchWork(ctx) })
	}
	parts.Go(func() { h.screen.readLines(ctx, h.typed) })
	<-ctx.Done()
	return nil
}

// restAfter is how long nobody must talk to the agent, nor it to anybody,
// before the harness gives memory back. Most agents wait most of the time; in
// a channel that is in use they all hear what is said.
const restAfter = 10 * time.Second

// firstPrompt is that of a first start: an agent that is resumed knows it.
func (h *Harness) firstPrompt() string {
	if h.runner.SessionID() != "" {
		return ""
	}
	return h.config.Initial
}

// join connects to the channels, if there are any.
func (h *Harness) join(ctx context.Context) error {
	if h.options.Connect == nil || h.config.Server.Address == "" {
		return nil
	}
	first, err := h.firstStart()
	if err != nil {
		return err
	}
	c := h.config
	c.Channels = h.channels.withJoined(c.Channels)
	chat, err := h.options.Connect(ctx, c, h.since(first), (*hearer)(h), h.logf, h.options.Getenv)
	if err != nil {
		return fmt.Errorf("join the channels: %w", err)
	}
	h.chat = chat
	close(h.joined)
	return nil
}

// firstStart is when the agent was first started. What is said to it from then
// on is its to answer, also if the harness is killed before it has heard of it.
func (h *Harness) firstStart() (time.Time, error) {
	var first time.Time
	file := filepath.Join(h.stateDir, "first-start.json")
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &first)
	}
	if errors.Is(err, fs.ErrNotExist) {
		first = h.clock().UTC()
		err = atomicfile.WriteJSON(file, first)
	}
	if err != nil {
		return first, fault.Errorf(fault.Storage, "tell when the agent was first started: %w", err)
	}
	return first, nil
}

// since tells up to where the messages of a target are known: of a channel, or
// with the agent's own nick of all direct messages.
func (h *Harness) since(first time.Time) func(target string) (ipc.Line, bool) {
	return func(target string) (ipc.Line, bool) {
		newest := h.buffer.newest
		if target == h.config.Nick {
			newest = func(string) (ipc.Line, bool) { return h.buffer.newestDirect() }
		}
		if line, ok := newest(target); ok {
			return line, true
		}
		return ipc.Line{At: first}, true
	}
}

// hearer takes what comes from the server.
type hearer Harness

// Heard takes messages once the harness knows the place that they came from.
func (h *hearer) Heard(m Incoming) {
	<-h.joined
	(*Harness)(h).hear(m)
}

func (h *hearer) Invited(i Invitation)        { h.rooms.invited(i) }
func (h *hearer) TopicChanged(channel string) { h.rooms.topicChanged(channel) }

func (h *hearer) Arrived() {
	h.rooms.wake.Set()
	h.owner.wake.Set()
}

// listen opens the socket. Clients wait until it is served.
func (h *Harness) listen() (l *net.UnixListener, closeSocket func(), err error) {
	path, err := h.config.SocketPath(h.stateDir, h.options.Getenv)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, fault.Errorf(fault.KindOf(err), "make the directory of the agent's socket: %w", err)
	}
	if l, err = rpc.Listen(path); err != nil {
		return nil, nil, fmt.Errorf("serve the agent's socket: %w", err)
	}
	unlink := h.linkSocket(path)
	return l, func() {
		l.Close() // Best effort: the server has closed it, if there was one.
		unlink()
		os.Remove(path) // Best effort: the next harness replaces it.
	}, nil
}

// serve answers clients. The returned function ends it and waits.
func (h *Harness) serve(ctx context.Context, l *net.UnixListener) func() {
	h.server = ipc.NewServer(h.handle)
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { h.server.Serve(ctx, l) })
	if h.options.Relay != nil {
		trouble := func(err error) { h.logf("%v", err) }
		serving.Go(func() { h.options.Relay(ctx, func(conn net.Conn) { h.server.ServeAway(ctx, conn) }, trouble) })
	}
	return func() {
		cancel()
		serving.Wait()
	}
}

// linkSocket makes the socket known by the agent's nick alone, unless another
// harness has that name.
func (h *Harness) linkSocket(path string) (unlink func()) {
	link, err := ipc.SocketPath(h.config.Nick, h.options.Getenv)
	if err != nil {
		h.logf("%v", err)
		return func() {}
	}
	if to, err := os.Readlink(link); err == nil && to == path {
		return h.unlinker(link, path) // of the harness before this one
	}
	if conn, err := net.Dial("unix", link); err == nil {
		conn.Close() // Best effort: nothing was sent.
		h.logf("another harness listens at %s; this one is reached by %s", link, ipc.SocketEnv)
		return func() {}
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		h.logf("link the agent's socket: %v", err)
		return func() {}
	}
	os.Remove(link) // Best effort: Symlink tells.
	if err := os.Symlink(path, link); err != nil {
		h.logf("link the agent's socket: %v", err)
		return func() {}
	}
	return h.unlinker(link, path)
}

// unlinker removes the link, if it is still the harness's own.
func (h *Harness) unlinker(link, path string) func() {
	return func() {
		if to, err := os.Readlink(link); err == nil && to == path {
			os.Remove(link) // Best effort: a link to nothing is replaced.
		}
	}
}

// newRunner makes the agent's runner.
func (h *Harness) newRunner() (*runner.Runner, error) {
	c := h.config
	socket, err := c.SocketPath(h.stateDir, h.options.Getenv)
	if err != nil {
		return nil, err
	}
	if c.Box != nil && c.Box.Socket != "" {
		socket = c.Box.Socket
	}
	env := map[string]string{ipc.SocketEnv: socket, "PATH": filepath.Dir(c.Den) + ":" + h.options.Getenv("PATH")}
	for _, name := range ipc.NickEnvs {
		env[name] = c.Nick
	}
	return runner.New(runner.Config{
		Dir: h.stateDir, Driver: h.options.Driver, Listener: (*listener)(h), Silence: c.TurnSilence, Clock: h.clock, Gate: h.gate,
		Options: runner.Options{
			Spawn: h.options.Spawn, Command: c.Command, Dir: c.Dir, Env: env, Model: c.Model, Thinking: c.Thinking,
			SystemPrompt: h.systemPrompt(), Extra: c.Options, Ask: h.ask, Log: h.screen.Log,
			Check: func(r permission.Request) (permission.Outcome, string) { return h.broker.Check(r) },
		},
	})
}

// systemPrompt is the configured one, and what an agent must know of where it
// is.
func (h *Harness) systemPrompt() string {
	if h.config.Server.Address == "" {
		return h.config.SystemPrompt
	}
	text := fmt.Sprintf("You are %s. People and other agents reach you in chat channels. A message to you begins with [IRC @mention in #channel] or [IRC DM] and the sender's name. Your last words of a turn are sent there as your answer: write the answer itself. To use the channels otherwise, run 'den channel': 'den channel --help' tells how.", h.config.Nick)
	if h.config.SystemPrompt != "" {
		text = h.config.SystemPrompt + "\n\n" + text
	}
	return text
}

// prompt queues a prompt; what cannot be queued is told where its answer would
// have gone.
func (h *Harness) prompt(id, text string, route Route) {
	if _, err := h.runner.SendPrompt(runner.Prompt{ID: id, Text: text, Route: route.encode()}); err != nil {
		h.logf("queue a prompt: %v", err)
		if h.chat != nil && route.Kind == RouteChannel {
			h.say(route.Target, route.Sender+": I cannot take this now: "+err.Error(), "")
		}
	}
}

// typed takes a line that somebody typed on the harness's terminal.
func (h *Harness) typed(line string) {
	h.over.supervisor.Returned()
	var err error
	if strings.TrimSpace(line) == runner.CompactPrompt {
		_, err = h.compact(context.Background(), ipc.Request{}, nil)
	} else {
		_, err = h.runner.SendPrompt(runner.Prompt{Text: line, Route: Route{Kind: RouteScreen}.encode()})
	}
	if err != nil {
		h.screen.Notef("not taken: %v", err)
	}
}

func (h *Harness) logf(format string, args ...any) { h.screen.Log(fmt.Sprintf(format, args...)) }

// sendLimit bounds one message to the channels.
const sendLimit = time.Minute

// say sends a message that may be lost.
func (h *Harness) say(target, text, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
	defer cancel()
	if err := h.chat.Send(ctx, target, text, id, false); err != nil {
		h.logf("say something to %s: %v", target, err)
	}
}
