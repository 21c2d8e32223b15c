package harness_test

import (
	"context"
	"den/internal/agent/conversation"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/onirc"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/script"
	"den/internal/base/fault"
	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// world is a server and what talks on it.
type world struct {
	t       *testing.T
	dir     string
	address string
	server  *ircd.Server
	alter   func(*ircd.Config) // what its server is; or nil
	vars    map[string]string
}

func newWorld(t *testing.T) *world { return newWorldWith(t, nil) }

// newWorldWith is newWorld with a server of its own kind.
func newWorldWith(t *testing.T, alter func(*ircd.Config)) *world {
	t.Helper()
	w := &world{t: t, alter: alter, dir: t.TempDir(), vars: map[string]string{"PATH": os.Getenv("PATH")}}
	run, err := os.MkdirTemp("", "den-harness") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	w.vars["HOME"], w.vars["XDG_RUNTIME_DIR"] = run, run
	w.address = w.serve("127.0.0.1:0")
	return w
}

// serve runs a server with a history, and returns its address.
func (w *world) serve(address string) string {
	w.t.Helper()
	config := ircd.Config{Dir: filepath.Join(w.dir, "history"), OpenTopics: true}
	if w.alter != nil {
		w.alter(&config)
	}
	server, err := ircd.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server = server
	server.Reserve(nil, func(net.Conn) error { return nil }) // all are people of this machine
	l, err := net.Listen("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, ircd.Listener{Listener: l}) }()
	w.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return l.Addr().String()
}

// agent is a running harness.
type agent struct {
	nick  string
	stop  func()
	state string
}

// start runs a harness of a script. It is stopped with the test, or before.
func (w *world) start(nick, shell string, change ...func(*harness.Options)) *agent {
	w.t.Helper()
	state := filepath.Join(w.dir, "state-"+nick)
	if err := os.MkdirAll(state, 0o700); err != nil {
		w.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(state, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	o := harness.Options{
		Config: harness.Config{
			Agent: nick, Nick: nick, Dir: w.t.TempDir(), Backend: "script", Command: []string{"sh", "-c", shell},
			Server: harness.Server{Address: w.address, Own: true}, Channels: []string{"#general"}, Den: "/nowhere/den",
		},
		StateDir: state, Driver: script.Driver{}, Spawn: local.Spawner{Mark: w.t.Name() + nick}, Connect: onirc.Connect,
		Screen: harness.NewScreen(nil, io.Discard, log, time.Now), Getenv: func(key string) string { return w.vars[key] },
	}
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- harness.Run(ctx, o) }()
	var once sync.Once
	a := &agent{nick: nick, state: state}
	a.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.t.Errorf("harness of %s: %v", nick, err)
			}
			log.Close()
			if w.t.Failed() {
				text, _ := os.ReadFile(log.Name())
				w.t.Logf("log of %s:\n%s", nick, text)
			}
		})
	}
	w.t.Cleanup(a.stop)
	w.awaitJoined(nick)
	return a
}

// awaitJoined returns when a nick is in the channel.
func (w *world) awaitJoined(nick string) {
	w.t.Helper()
	watcher := w.person("watch-" + nick)
	defer watcher.Close()
	for {
		users, err := watcher.Who(w.t.Context(), "#general")
		if err != nil {
			w.t.Fatal(err)
		}
		if slices.ContainsFunc(users, func(u irc.User) bool { return u.Nick == nick }) {
			w.awaitKnows(nick)
			return
		}
		for { // until somebody joins
			e, err := watcher.Next(w.t.Context())
			if err != nil {
				w.t.Fatal(err)
			}
			if e.Kind == irc.EventJoin {
				break
			}
		}
	}
}

// awaitKnows waits until a harness itself knows that it is in the channel: the
// server does before.
func (w *world) awaitKnows(nick string) {
	w.t.Helper()
	conn := w.dial(nick)
	defer conn.Close()
	for {
		var joined ipc.Joined
		if _, err := conn.Call(w.t.Context(), ipc.Request{Type: ipc.Channels}, &joined); err != nil {
			w.t.Fatal(err)
		}
		if slices.Contains(joined.Channels, "#general") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// person is somebody in the channel.
func (w *world) person(nick string) *irc.Client {
	w.t.Helper()
	c, err := irc.Dial(w.t.Context(), irc.ClientConfig{Address: w.address, Nick: nick, Limits: irc.ClientLimits{LineRate: 1000, LineBurst: 1000, FirstWait: 10 * time.Millisecond}})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Join(w.t.Context(), "#general", ""); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// hears returns the next n messages that nick says.
func hears(t *testing.T, c *irc.Client, nick string, n int) []irc.Event {
	t.Helper()
	var all []irc.Event
	for len(all) < n {
		e, err := c.Next(t.Context())
		if err != nil {
			t.Fatalf("heard %d of %d: %v", len(all), n, err)
		}
		if e.Kind == irc.EventMessage && e.From.Nick == nick {
			all = append(all, e)
		}
	}
	return all
}

const sayer = `sed -n 's/.*say //p'`

// say sends a message and fails the test if it is refused.
func say(t *testing.T, c *irc.Client, target, text string) {
	t.Helper()
	if _, err := c.Send(t.Context(), target, text); err != nil {
		t.Fatal(err)
	}
}

// A mention is answered where it was made, a direct message in private, and
// what is for nobody is left alone.
func TestMentionsAndDirectMessages(t *testing.T) {
	w := newWorld(t)
	w.start("spark-echo", sayer)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "say nothing to nobody")
	for i := range 10 {
		say(t, bob, "#general", fmt.Sprintf("@echo say number %d", i))
	}
	for i, e := range hears(t, bob, "spark-echo", 10) {
		if want := fmt.Sprintf("number %d", i); e.Text != want || e.Target != "#general" {
			t.Errorf("answer %d: %q to %s", i, e.Text, e.Target)
		}
	}
	say(t, bob, "spark-echo", "say between us")
	if e := hears(t, bob, "spark-echo", 1)[0]; e.Text != "between us" || e.Target != "bob" {
		t.Errorf("%q to %s", e.Text, e.Target)
	}
}

// What one program asks another is not for the agent; what somebody does is.
func TestRequestsOfProgramsAreNoPrompts(t *testing.T) {
	w := newWorld(t)
	w.start("echo", "cat")
	bob := w.person("bob")
	defer bob.Close()
	if _, err := bob.Send(t.Context(), "echo", "\x01VERSION\x01"); fault.KindOf(err) != fault.Denied {
		t.Errorf("den's server passes a request on: %v", err)
	}
	say(t, bob, "echo", "\x01ACTION waves\x01")
	if e := hears(t, bob, "echo", 1)[0]; e.Text != "[IRC DM] <bob> /me waves" {
		t.Errorf("%q", e.Text)
	}
}

// Who asked is told of a turn that ends without words, or is cancelled.
func TestSilentTurnsAreTold(t *testing.T) {
	w := newWorld(t)
	begun := filepath.Join(w.dir, "begun")
	w.start("quiet", `x=$(cat); case $x in *wait*) touch `+begun+`; while true; do sleep 0.05; done;; esac`)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@quiet hello?")
	if e := hears(t, bob, "quiet", 1)[0]; e.Text != "I have ended my turn without words." {
		t.Errorf("%q", e.Text)
	}
	say(t, bob, "#general", "@quiet wait")
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := w.dial("quiet").Call(t.Context(), ipc.Request{Type: ipc.Cancel}, nil); err != nil {
		t.Fatal(err)
	}
	if e := hears(t, bob, "quiet", 1)[0]; e.Text != "I could not answer: my turn was cancelled" {
		t.Errorf("%q", e.Text)
	}
}

// The agent finds its harness by its environment.
func TestAgentEnvironment(t *testing.T) {
	w := newWorld(t)
	w.start("a", `cat >/dev/null; echo "$DEN_NICK $CULTURE_NICK $(test -S "$DEN_HARNESS" && echo socket) ${PATH%%:*}"`)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@a who are you?")
	if e := hears(t, bob, "a", 1)[0]; e.Text != "a a socket /nowhere" {
		t.Errorf("%q", e.Text)
	}
}

// What was asked while the harness was away is answered when it is back, once.
func TestMissedMentions(t *testing.T) {
	w := newWorld(t)
	a := w.start("echo", sayer)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@echo say one")
	hears(t, bob, "echo", 1)
	a.stop()
	say(t, bob, "#general", "@echo say two")
	w.start("echo", sayer)
	say(t, bob, "#general", "@echo say three")
	got := hears(t, bob, "echo", 2)
	if got[0].Text != "two" || got[1].Text != "three" {
		t.Errorf("%q, %q", got[0].Text, got[1].Text)
	}
}

// A turn that was cut off by the end of the harness is taken up again, and its
// answer goes to who asked.
func TestTurnOverRestart(t *testing.T) {
	w := newWorld(t)
	block := filepath.Join(w.dir, "block")
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(w.dir, "begun")
	shell := `x=$(cat); touch ` + begun + `; while [ -e ` + block + ` ]; do sleep 0.05; done; case $x in *"cut off"*) echo "resumed";; *) echo "fresh";; esac`
	a := w.start("echo", shell)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@echo work")
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	a.stop()
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	w.start("echo", shell)
	if e := hears(t, bob, "echo", 1)[0]; e.Text != "resumed" {
		t.Errorf("%q", e.Text)
	}
	say(t, bob, "#general", "@echo again")
	if e := hears(t, bob, "echo", 1)[0]; e.Text != "fresh" {
		t.Errorf("%q", e.Text)
	}
}

// dial connects to a harness as its agent does.
func (w *world) dial(nick string) *ipc.Conn {
	w.t.Helper()
	path, err := ipc.Find(nick, func(key string) string { return w.vars[key] })
	if err != nil {
		w.t.Fatal(err)
	}
	conn, err := ipc.Dial(w.t.Context(), path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return conn
}

// Who knows nothing but the nick finds the harness, whether there is a runtime
// directory or not, and what they find is the harness's own socket.
func TestSocketIsFoundByNick(t *testing.T) {
	for name, place := range map[string]string{"XDG_RUNTIME_DIR": "", "HOME": ".culture/run"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			root := w.vars[name]
			w.vars["DEN_RUN_DIR"] = filepath.Join(root, "d") // of the harness's own socket
			if name == "HOME" {
				delete(w.vars, "XDG_RUNTIME_DIR")
			} else {
				w.vars["HOME"] = filepath.Join(root, "home")
			}
			a := w.start("echo", sayer)
			link := filepath.Join(root, place, "culture-echo.sock")
			own, err := ipc.OwnSocketPath(a.state, func(key string) string { return w.vars[key] })
			if err != nil {
				t.Fatal(err)
			}
			if to, err := os.Readlink(link); err != nil || to != own {
				t.Errorf("%s leads to %q, want %q; %v", link, to, own, err)
			}
			var joined ipc.Joined
			if _, err := w.dial("echo").Call(t.Context(), ipc.Request{Type: ipc.Channels}, &joined); err != nil || len(joined.Channels) != 1 {
				t.Errorf("%v, %v", joined, err)
			}
			a.stop()
			if _, err := os.Lstat(link); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", link, err)
			}
		})
	}
}

// Every command of the specification has a real answer.
func TestCommands(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer)
	bob := w.person("bob")
	defer bob.Close()
	conn := w.dial("echo")
	call := func(r ipc.Request, data any) error {
		_, err := conn.Call(t.Context(), r, data)
		return err
	}
	if err := call(ipc.Request{Type: ipc.Send, Channel: "#general", Message: "hello\nthere"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := hears(t, bob, "echo", 2); got[0].Text != "hello" || got[1].Text != "there" {
		t.Errorf("%q %q", got[0].Text, got[1].Text)
	}
	var joined ipc.Joined
	if err := call(ipc.Request{Type: ipc.Channels}, &joined); err != nil || !slices.Equal(joined.Channels, []string{"#general"}) {
		t.Errorf("%v, %v", joined, err)
	}
	if err := call(ipc.Request{Type: ipc.Join, Channel: "#other"}, nil); err != nil {
		t.Error(err)
	}
	if err := call(ipc.Request{Type: ipc.Part, Channel: "#other"}, nil); err != nil {
		t.Error(err)
	}
	var people ipc.People
	if err := call(ipc.Request{Type: ipc.Who, Target: "#general"}, &people); err != nil || len(people.People) != 2 {
		t.Errorf("%v, %v", people, err)
	}
	topic := "release"
	if err := call(ipc.Request{Type: ipc.Topic, Channel: "#general", Topic: &topic}, nil); err != nil {
		t.Error(err)
	}
	var told ipc.ChannelTopic
	if err := call(ipc.Request{Type: ipc.Topic, Channel: "#general"}, &told); err != nil || told.Topic != topic {
		t.Errorf("%v, %v", told, err)
	}
	var status ipc.AgentStatus
	if err := call(ipc.Request{Type: ipc.Status}, &status); err != nil || status.Activity != "idle" || !status.Running || !status.Connected || status.TurnCount != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	var answer conversation.Answer
	if err := call(ipc.Request{Type: ipc.Converse, Message: "say 42"}, &answer); err != nil || answer.Text != "42" {
		t.Errorf("%+v, %v", answer, err)
	}
	for _, bad := range []ipc.Request{
		{Type: ipc.Send, Channel: "#general", Message: "  "}, {Type: ipc.Send, Message: "x"}, {Type: ipc.Send, Channel: "#nowhere", Message: "x"},
		{Type: ipc.Send, Channel: "nobody", Message: "x"}, {Type: ipc.Join, Channel: "x"}, {Type: "dance"}, {Type: ipc.Converse, Message: "x", Callers: []string{"echo"}},
	} {
		if err := call(bad, nil); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// irc_ask waits for the reply, and says when none came.
func TestAskInChannel(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer)
	w.start("parrot", sayer)
	conn := w.dial("echo")
	var reply ipc.Reply
	_, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Ask, Channel: "#general", Message: "@parrot say @echo seven"}, &reply)
	if err != nil || reply.Nick != "parrot" || reply.Text != "@echo seven" {
		t.Errorf("%+v, %v", reply, err)
	}
	_, err = conn.Call(t.Context(), ipc.Request{Type: ipc.Ask, Channel: "#general", Message: "anybody?", Timeout: 0.05}, &reply)
	if err == nil || !strings.Contains(err.Error(), "nobody answered") {
		t.Errorf("%v", err)
	}
}

// A question to somebody is answered by them: what another says to the agent
// meanwhile is for the agent. A question to everybody is answered by the first
// reply, which may be another matter: the agent gets that too.
func TestAskIsAnsweredByWhoWasAsked(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer)
	bob, carol := w.person("bob"), w.person("carol")
	defer bob.Close()
	defer carol.Close()
	conn := w.dial("echo")
	ask := func(text string) chan ipc.Reply {
		answered := make(chan ipc.Reply, 1)
		go func() {
			var reply ipc.Reply
			if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Ask, Channel: "#general", Message: text, Timeout: 600}, &reply); err != nil {
				t.Error(err)
			}
			answered <- reply
		}()
		if e := hears(t, carol, "echo", 1)[0]; e.Text != text {
			t.Errorf("%q was asked", e.Text)
		}
		return answered
	}

	answered := ask("@bob which port?")
	say(t, carol, "#general", "@echo say a new task")
	if e := hears(t, carol, "echo", 1)[0]; e.Text != "a new task" {
		t.Errorf("carol hears %q", e.Text)
	}
	say(t, bob, "#general", "@echo it is 8080")
	if reply := <-answered; reply.Nick != "bob" || reply.Text != "@echo it is 8080" {
		t.Errorf("%+v", reply)
	}

	answered = ask("which port? ask @Override or anybody")
	say(t, carol, "#general", "@echo say 8080")
	if reply := <-answered; reply.Nick != "carol" {
		t.Errorf("%+v", reply)
	}
	if e := hears(t, carol, "echo", 1)[0]; e.Text != "8080" {
		t.Errorf("carol hears %q", e.Text)
	}
	say(t, carol, "#general", "@echo say that is all")
	if e := hears(t, carol, "echo", 1)[0]; e.Text != "that is all" {
		t.Errorf("carol hears %q", e.Text)
	}
}

// Each reader has its own place; nobody hides messages from another.
func TestReaders(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "one")
	say(t, bob, "#general", "@echo say two")
	hears(t, bob, "echo", 1)
	conn := w.dial("echo")
	for i := 0; ; i++ { // until the harness has heard its own answer
		var m ipc.Messages
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Read, Channel: "#general", Reader: fmt.Sprint(i)}, &m); err != nil {
			t.Fatal(err)
		}
		if len(m.Messages) == 3 {
			break
		}
	}
	for _, reader := range []string{"", "person"} {
		var m ipc.Messages
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Read, Channel: "#GENERAL", Reader: reader}, &m); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, l := range m.Messages {
			texts = append(texts, l.Nick+": "+l.Text)
		}
		if got := strings.Join(texts, "|"); got != "bob: one|bob: @echo say two|echo: two" {
			t.Errorf("reader %q: %s", reader, got)
		}
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Read, Channel: "#general", Reader: reader}, &m); err != nil || len(m.Messages) != 0 {
			t.Errorf("again: %v, %v", m, err)
		}
	}
}

// What an agent does is what it was told, until it says something in that turn.
func TestDescription(t *testing.T) {
	w := newWorld(t)
	block := filepath.Join(w.dir, "block")
	if err := syscall.Mkfifo(block, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start("echo", `read -r x; case $x in *wait*) read on < '`+block+`'; echo waited;; *) echo hello;; esac`)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@echo greet")
	hears(t, bob, "echo", 1)
	conn := w.dial("echo")
	until := func(activity string) (status ipc.AgentStatus) {
		for status.Activity != activity {
			if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil {
				t.Fatal(err)
			}
		}
		return status
	}
	if s := until("idle"); s.Description != "hello" {
		t.Errorf("%q", s.Description)
	}
	say(t, bob, "#general", "@echo wait")
	if s := until("working"); s.Description != "[IRC @mention in #general] <bob> @echo wait" {
		t.Errorf("%q", s.Description)
	}
	if err := os.WriteFile(block, []byte("on\n"), 0); err != nil {
		t.Fatal(err)
	}
	hears(t, bob, "echo", 1)
	if s := until("idle"); s.Description != "waited" {
		t.Errorf("%q", s.Description)
	}
}

// What people should know is told in the channel for that, which the agent need
// not be in.
func TestChannelOfWebhooks(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer, func(o *harness.Options) { o.Config.Webhook.Channel = "#alerts" })
	bob := w.person("bob")
	defer bob.Close()
	if err := bob.Join(t.Context(), "#alerts", ""); err != nil {
		t.Fatal(err)
	}
	conn := w.dial("echo")
	var reply ipc.Reply
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Ask, Channel: "#general", Message: "anybody?", Timeout: 0.05}, &reply); err == nil {
		t.Error("somebody answered")
	}
	for _, e := range hears(t, bob, "echo", 2) { // one of them is in #general
		if e.Channel == "#alerts" && e.Text == "[QUESTION] echo asked in #general: anybody?" {
			return
		}
	}
	t.Error("it was not told in #alerts")
}

// A pause keeps mentions for later.
func TestPauseKeepsMentions(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer)
	bob := w.person("bob")
	defer bob.Close()
	conn := w.dial("echo")
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Pause}, nil); err != nil {
		t.Fatal(err)
	}
	say(t, bob, "#general", "@echo say later")
	var status ipc.AgentStatus
	for status.Pending == 0 {
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil {
			t.Fatal(err)
		}
	}
	if !status.Paused || status.Activity != "paused" {
		t.Errorf("%+v", status)
	}
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Resume}, nil); err != nil {
		t.Fatal(err)
	}
	if e := hears(t, bob, "echo", 1)[0]; e.Text != "later" {
		t.Errorf("%q", e.Text)
	}
}
