package irc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// patience is how long a test waits for what must come. Nothing is measured by
// it.
const patience = 2 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// A server that a test can stop and start again on the same address.
type server struct {
	t       *testing.T
	cfg     ircd.Config
	address string
	stop    func()
}

func startServer(t *testing.T, cfg ircd.Config) *server {
	t.Helper()
	s := &server{t: t, cfg: cfg, address: "127.0.0.1:0"}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *server) start() {
	s.t.Helper()
	l, err := ircd.Listen(s.address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = l.Addr().String()
	srv, err := ircd.New(s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	srv.Reserve(nil, func(net.Conn) error { return nil }) // all are people of this machine
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	s.stop = func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				s.t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			s.t.Error("the server does not end")
		}
		s.stop = func() {}
	}
}

func fast() irc.ClientLimits {
	return irc.ClientLimits{LineRate: 1e6, LineBurst: 1000, FirstWait: 2 * time.Millisecond, LongWait: 50 * time.Millisecond, Answer: patience}
}

func connect(t *testing.T, address, nick string, channels ...string) *irc.Client {
	t.Helper()
	return connectWith(t, irc.ClientConfig{Address: address, Nick: nick, Limits: fast()}, channels...)
}

func connectWith(t *testing.T, cfg irc.ClientConfig, channels ...string) *irc.Client {
	t.Helper()
	c, err := irc.Dial(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			c.Close()
		}()
		select {
		case <-closed:
		case <-time.After(patience):
			t.Errorf("the client %s does not end", cfg.Nick)
		}
	})
	for _, ch := range channels {
		if err := c.Join(within(t), ch, ""); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// next returns the next event of one of these kinds.
func next(t *testing.T, c *irc.Client, kinds ...irc.EventKind) irc.Event {
	t.Helper()
	return nextThat(t, c, fmt.Sprint(kinds), func(e irc.Event) bool { return slices.Contains(kinds, e.Kind) })
}

// nextThat returns the next event that is the right one, whatever comes before
// it.
func nextThat(t *testing.T, c *irc.Client, what string, right func(irc.Event) bool) irc.Event {
	t.Helper()
	ctx := within(t)
	for {
		e, err := c.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if right(e) {
			return e
		}
	}
}

// nextOf returns the next event of this kind by somebody.
func nextOf(t *testing.T, c *irc.Client, kind irc.EventKind, nick string) irc.Event {
	t.Helper()
	return nextThat(t, c, fmt.Sprintf("%v of %s", kind, nick), func(e irc.Event) bool { return e.Kind == kind && e.From.Nick == nick })
}

func nextText(t *testing.T, c *irc.Client) string {
	t.Helper()
	return next(t, c, irc.EventMessage).Text
}

func TestSendAndReceive(t *testing.T) {
	s := startServer(t, ircd.Config{Dir: t.TempDir()})
	a, b := connect(t, s.address, "alice", "#c"), connect(t, s.address, "bob", "#c")
	receipt, err := a.Send(within(t), "#c", "hello @bob")
	if err != nil || !receipt.Certain || receipt.ID == "" || receipt.Lines != 1 {
		t.Fatalf("%+v, %v", receipt, err)
	}
	e := next(t, b, irc.EventMessage)
	if e.Text != "hello @bob" || e.From.Nick != "alice" || e.Channel != "#c" || e.ID != receipt.ID || e.Own || e.Peer != "" {
		t.Errorf("%+v", e)
	}
	if e := next(t, a, irc.EventMessage); !e.Own || e.ID != receipt.ID {
		t.Errorf("own echo: %+v", e)
	}
	if _, err := b.Send(within(t), "ALICE", "psst"); err != nil {
		t.Fatal(err)
	}
	if e := next(t, a, irc.EventMessage); e.Text != "psst" || e.Channel != "" || e.Peer != "bob" {
		t.Errorf("%+v", e)
	}
	if e := next(t, b, irc.EventMessage); e.Peer != "alice" || !e.Own {
		t.Errorf("%+v", e)
	}
}

// What is sent at once after the connection comes after the JOINs of the
// client itself.
func TestSendAfterJoins(t *testing.T) {
	s := startServer(t, ircd.Config{})
	for range 20 {
		c := connectWith(t, irc.ClientConfig{Address: s.address, Nick: "alice", Limits: fast(), Channels: []irc.ChannelKey{{Name: "#a"}, {Name: "#b"}}})
		if _, err := c.Send(within(t), "#b", "hello"); err != nil {
			t.Error(err)
		}
		c.Close()
	}
}

func TestErrorsAreSurfaced(t *testing.T) {
	s := startServer(t, ircd.Config{})
	op, p := connect(t, s.address, "op", "#c", "#key", "#full", "#invited", "#banned"), connect(t, s.address, "p")
	ctx := within(t)
	for ch, modes := range map[string][]string{"#key": {"+k", "x"}, "#full": {"+l", "1"}, "#invited": {"+i"}, "#banned": {"+b", "p!*@*"}} {
		if err := op.SetModes(ctx, ch, modes...); err != nil {
			t.Fatal(err)
		}
	}
	send := func(target string) func() error {
		return func() error { _, err := p.Send(ctx, target, "x"); return err }
	}
	join := func(ch string) func() error { return func() error { return p.Join(ctx, ch, "") } }
	for _, c := range []struct {
		name string
		do   func() error
		kind fault.Kind
		text string
	}{
		{"nobody", send("nobody"), fault.NotFound, "nobody: nobody there (401)"},
		{"no channel", send("#nowhere"), fault.NotFound, "#nowhere: no such channel (403)"},
		{"outside", send("#c"), fault.Denied, "#c: cannot send to this channel (404)"},
		{"injection", send("#c\r\nQUIT"), fault.Usage, "not a valid"},
		{"two targets", send("#c,#key"), fault.Usage, "not a valid"},
		{"key", join("#key"), fault.Denied, "(475)"},
		{"full", join("#full"), fault.Busy, "(471)"},
		{"invited", join("#invited"), fault.Denied, "(473)"},
		{"banned", join("#banned"), fault.Denied, "(474)"},
		{"bad name", join("nohash"), fault.NotFound, "(403)"},
		{"part", func() error { return p.Part(ctx, "#c", "") }, fault.NotFound, "#c: not on that channel (442)"},
		{"topic", func() error { return p.SetTopic(ctx, "#c", "x") }, fault.NotFound, "(442)"},
		{"whois", func() error { _, err := p.Whois(ctx, "nobody"); return err }, fault.NotFound, "nobody there (401)"},
		{"kick", func() error { return p.Kick(ctx, "#c", "op", "") }, fault.NotFound, "(442)"},
		{"invite", func() error { return p.Invite(ctx, "nobody", "#c") }, fault.NotFound, "(401)"},
		{"empty", func() error { _, err := p.Send(ctx, "#c", "\r\n\n"); return err }, fault.Usage, "no text"},
	} {
		err := c.do()
		if fault.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v (%s)", c.name, err, fault.KindOf(err))
		}
	}
	var refusal *irc.Refusal
	if !errors.As(send("nobody")(), &refusal) || refusal.Code != irc.ERR_NOSUCHNICK || refusal.Target != "nobody" {
		t.Errorf("%+v", refusal)
	}
}

// A caller that marks each line sends lines of its own, and none is split
// again.
func TestSplitIsWhatSendDoes(t *testing.T) {
	s := startServer(t, ircd.Config{})
	c := connect(t, s.address, "alice", "#c")
	text := strings.Repeat("long words of a sentence ", 60) + "\n\n" + strings.Repeat("日", 400)
	lines := c.Split("#c", text)
	for _, line := range lines {
		if receipt, err := c.Send(within(t), "#c", line); err != nil || receipt.Lines != 1 {
			t.Errorf("%+v, %v", receipt, err)
		}
	}
	if receipt, err := c.Send(within(t), "#c", text); err != nil || receipt.Lines != len(lines) || len(lines) < 6 {
		t.Errorf("%+v, %v, and %d lines", receipt, err, len(lines))
	}
}

func TestNickInUse(t *testing.T) {
	s := startServer(t, ircd.Config{})
	first := connect(t, s.address, "agent")
	second := connect(t, s.address, "agent", "#c")
	if second.Nick() != "agent_" {
		t.Errorf("nick %q", second.Nick())
	}
	if err := first.Join(within(t), "#c", ""); err != nil {
		t.Fatal(err)
	}
	first.Close() // second sees it leave, and takes the nick
	for e := next(t, second, irc.EventNick); e.Subject != "agent"; e = next(t, second, irc.EventNick) {
	}
	if second.Nick() != "agent" {
		t.Errorf("nick %q", second.Nick())
	}
}

func TestReconnect(t *testing.T) {
	s := startServer(t, ircd.Config{Dir: t.TempDir()})
	a, b := connect(t, s.address, "alice", "#c"), connect(t, s.address, "bob", "#c")
	if _, err := a.Send(within(t), "#c", "before"); err != nil {
		t.Fatal(err)
	}
	if got := nextText(t, b); got != "before" {
		t.Fatalf("%q", got)
	}
	s.stop()
	if e := next(t, b, irc.EventDisconnected); e.Err == nil {
		t.Errorf("%+v", e)
	}
	sent := make(chan error, 1)
	go func() { _, err := a.Send(within(t), "#c", "queued"); sent <- err }()
	s.start()
	next(t, b, irc.EventConnected)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if got := nextText(t, b); got != "queued" {
		t.Errorf("%q", got)
	}
	if got := b.Joined(); len(got) != 1 || got[0] != "#c" {
		t.Errorf("%q", got)
	}
}

// gatedDialer lets a client connect as often as it was allowed to, once at first.
type gatedDialer struct {
	allowed chan struct{}
	conns   chan net.Conn
}

func newGatedDialer() gatedDialer {
	d := gatedDialer{allowed: make(chan struct{}, 10), conns: make(chan net.Conn, 10)}
	d.allowed <- struct{}{}
	return d
}

func (d gatedDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	select {
	case <-d.allowed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	d.conns <- conn
	return conn, err
}

// cut ends the oldest connection that was not cut.
func (d gatedDialer) cut(t *testing.T) {
	t.Helper()
	select {
	case conn := <-d.conns:
		conn.Close()
	case <-within(t).Done():
		t.Fatal("no connection was made")
	}
}

// What was said while a client was away is delivered once, in order, before
// what is said now.
func TestMissedMessages(t *testing.T) {
	s := startServer(t, ircd.Config{Dir: t.TempDir()})
	a := connect(t, s.address, "alice", "#c")
	gate := newGatedDialer()
	cfg := irc.ClientConfig{Address: s.address, Nick: "bob", Limits: fast(), Dial: gate.dial}
	b := connectWith(t, cfg, "#c")
	send := func(target, text string) {
		t.Helper()
		if _, err := a.Send(within(t), target, text); err != nil {
			t.Fatal(err)
		}
	}
	send("#c", "one")
	send("bob", "direct one")
	for range 2 {
		next(t, b, irc.EventMessage)
	}
	gate.cut(t)
	next(t, b, irc.EventDisconnected)
	nextOf(t, a, irc.EventQuit, "bob")
	for i := range 250 {
		send("#c", fmt.Sprint("missed ", i))
	}
	gate.allowed <- struct{}{}
	nextOf(t, a, irc.EventJoin, "bob")
	send("#c", "live")
	for i := range 250 {
		if e := next(t, b, irc.EventMessage); e.Text != fmt.Sprint("missed ", i) || !e.Missed {
			t.Fatalf("message %d: %+v", i, e)
		}
	}
	if e := next(t, b, irc.EventMessage); e.Text != "live" || e.Missed {
		t.Errorf("%+v", e)
	}
}

// A client that was not running reads on from the cursor that its caller kept,
// direct messages too.
func TestCursorOverRestart(t *testing.T) {
	s := startServer(t, ircd.Config{Dir: t.TempDir()})
	a := connect(t, s.address, "alice", "#c")
	b := connect(t, s.address, "bob", "#c")
	if _, err := a.Send(within(t), "#c", "one"); err != nil {
		t.Fatal(err)
	}
	last := next(t, b, irc.EventMessage)
	// Written while both are there, so that nobody is missing; bob's program
	// ends before it takes them.
	for _, target := range []string{"#c", "bob"} {
		if _, err := a.Send(within(t), target, "two for "+target); err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	cfg := irc.ClientConfig{Address: s.address, Nick: "bob", Limits: fast(), Channels: []irc.ChannelKey{{Name: "#c"}}}
	cfg.Cursors = map[string]irc.Cursor{"#c": {ID: last.ID, Time: last.Time}}
	b = connectWith(t, cfg)
	got := map[string]bool{}
	for range 2 {
		e := next(t, b, irc.EventMessage)
		got[e.Text] = e.Missed
	}
	if !got["two for #c"] || !got["two for bob"] {
		t.Errorf("%v", got)
	}
}

func TestQueueIsBounded(t *testing.T) {
	limits := fast()
	limits.Queue = 3
	c, err := irc.NewClient(irc.ClientConfig{Address: "127.0.0.1:1", Nick: "a", Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	go c.Run(context.Background())
	defer c.Close()
	next(t, c, irc.EventDisconnected) // so that the cause is known
	if _, err := c.Send(within(t), "#c", "1\n2\n3\n4"); fault.KindOf(err) != fault.Busy {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
	_, err = c.Send(canceled(), "#c", "1\n2\n3")
	if fault.KindOf(err) != fault.Unreachable || !strings.Contains(err.Error(), "not sent") {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestLogin(t *testing.T) {
	accounts, err := ircd.OpenAccounts(t.TempDir() + "/accounts.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Set("claude", "secret"); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, ircd.Config{Accounts: accounts})
	cfg := irc.ClientConfig{Address: s.address, Nick: "claude", Limits: fast(), Login: &irc.Login{Account: "claude", Password: "secret"}}
	c := connectWith(t, cfg)
	who, err := c.Whois(within(t), "claude")
	if err != nil || who.Account != "claude" {
		t.Errorf("%+v, %v", who, err)
	}
	cfg.Login = &irc.Login{Account: "claude", Password: "wrong"}
	if _, err := irc.Dial(within(t), cfg); fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "wrong account or password") {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
	cfg.Login = nil // the nick is the account's
	if other := connectWith(t, cfg); other.Nick() != "claude_" {
		t.Errorf("nick %q", other.Nick())
	}
	// A new connection of the same account takes the nick from the old one.
	cfg.Login = &irc.Login{Account: "claude", Password: "secret"}
	if again := connectWith(t, cfg); again.Nick() != "claude" {
		t.Errorf("nick %q", again.Nick())
	}
}
