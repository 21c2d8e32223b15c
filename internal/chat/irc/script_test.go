package irc_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc"
)

// A script is a server that a test plays line by line, for what real ones do
// seldom.
type script struct {
	t    *testing.T
	l    net.Listener
	conn net.Conn
	in   *bufio.Reader
}

func newScript(t *testing.T) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &script{t: t, l: l}
}

func (s *script) config() irc.ClientConfig {
	return irc.ClientConfig{Address: s.l.Addr().String(), Nick: "me", Limits: fast()}
}

// run runs a client until the test ends.
func (s *script) run(cfg irc.ClientConfig) *irc.Client {
	s.t.Helper()
	c, err := irc.NewClient(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	go c.Run(context.Background())
	s.t.Cleanup(c.Close)
	return c
}

func (s *script) accept() {
	s.t.Helper()
	conn, err := s.l.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(patience))
	s.t.Cleanup(func() { conn.Close() })
	s.conn, s.in = conn, bufio.NewReader(conn)
}

func (s *script) say(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		if _, err := fmt.Fprintf(s.conn, "%s\r\n", line); err != nil {
			s.t.Fatal(err)
		}
	}
}

// expect reads until a line begins with this text, and returns it.
func (s *script) expect(prefix string) string {
	s.t.Helper()
	var seen []string
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatalf("waiting for %q: %v; got %q", prefix, err, seen)
		}
		if line = strings.TrimSpace(line); strings.HasPrefix(line, prefix) {
			return line
		}
		seen = append(seen, line)
	}
}

// greet registers a client without capabilities.
func (s *script) greet(nick string) {
	s.t.Helper()
	s.say(":s 001 "+nick+" :Welcome", ":s 005 "+nick+" CASEMAPPING=rfc1459 CHANTYPES=# NICKLEN=30 :are supported", ":s 422 "+nick+" :No MOTD")
}

// fence answers the PING that follows a message.
func (s *script) fence() {
	s.t.Helper()
	_, token, _ := strings.Cut(s.expect("PING :den-"), ":")
	s.say(":s PONG s :" + token)
}

func TestServerWithoutCAP(t *testing.T) {
	s := newScript(t)
	c := s.run(s.config())
	s.accept()
	s.expect("USER me 0 * :me")
	s.say("PING :early", ":s 421 * CAP :Unknown command")
	s.expect("PONG :early")
	s.greet("me")
	if err := c.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { _, err := c.Send(within(t), "{A}", "hi"); sent <- err }()
	s.expect("PRIVMSG {A} :hi")
	s.say(":s 401 me [a] :No such nick") // the same name by this casemapping
	if err := <-sent; fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}

func TestCapabilitiesInParts(t *testing.T) {
	s := newScript(t)
	cfg := s.config()
	cfg.Login = &irc.Login{Account: "acc", Password: strings.Repeat("p", 293)} // encoded: exactly 400 bytes
	c := s.run(cfg)
	s.accept()
	s.expect("USER")
	s.say(":s CAP * LS * :batch unknown-1 server-time", ":s CAP * LS :sasl=PLAIN,EXTERNAL message-tags=x echo-message")
	if got := s.expect("CAP REQ"); got != "CAP REQ :batch echo-message message-tags sasl server-time" {
		t.Errorf("%q", got)
	}
	s.say(":s CAP me ACK :batch echo-message message-tags sasl server-time")
	s.expect("AUTHENTICATE PLAIN")
	s.say("AUTHENTICATE +")
	if got := s.expect("AUTHENTICATE "); len(got) != len("AUTHENTICATE ")+400 {
		t.Errorf("%d bytes", len(got))
	}
	s.expect("AUTHENTICATE +") // the end of a response that fills its last line
	s.say(":s 900 me me!u@h acc :in", ":s 903 me :done")
	s.expect("CAP END")
	s.greet("me")
	if err := c.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	s.say(":s CAP me NEW :labeled-response other", ":s CAP me DEL :echo-message")
	s.expect("CAP REQ labeled-response")
	s.say(":s CAP me ACK :labeled-response", "PING x")
	s.expect("PONG :x")
	if !c.HasCap("labeled-response") || c.HasCap("echo-message") {
		t.Error("CAP NEW and DEL were not followed")
	}
}

// A message that was written when the connection was lost is neither sent
// again nor called a failure.
func TestUnsure(t *testing.T) {
	s := newScript(t)
	c := s.run(s.config())
	s.accept()
	s.expect("USER")
	s.greet("me")
	sent, asked := make(chan error, 1), make(chan error, 1)
	go func() { _, err := c.Send(within(t), "#c", "once"); sent <- err }()
	s.expect("PRIVMSG #c :once")
	go func() { _, err := c.Who(within(t), "#c"); asked <- err }()
	s.expect("WHO #c")
	s.conn.Close()
	if err := <-sent; fault.KindOf(err) != fault.Unsure {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
	if err := <-asked; fault.KindOf(err) != fault.Unreachable {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
	s.accept()
	s.expect("USER")
	s.greet("me")
	go func() { _, err := c.Send(within(t), "#c", "next"); sent <- err }()
	if got := s.expect("PRIVMSG"); got != "PRIVMSG #c :next" {
		t.Errorf("%q", got)
	}
	s.fence()
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// An error between two messages is of the first that was not answered.
func TestErrorsAreOfTheirMessage(t *testing.T) {
	s := newScript(t)
	c := s.run(s.config())
	s.accept()
	s.expect("USER")
	s.greet("me")
	results := [2]chan error{make(chan error, 1), make(chan error, 1)}
	var fences []string
	for i, text := range []string{"first", "second"} {
		go func() { _, err := c.Send(within(t), "#c", text); results[i] <- err }()
		s.expect("PRIVMSG #c :" + text)
		fences = append(fences, strings.TrimPrefix(s.expect("PING :"), "PING :"))
	}
	s.say(":s 404 me #c :Cannot send", ":s PONG s :"+fences[0])
	if err := <-results[0]; fault.KindOf(err) != fault.Denied {
		t.Errorf("first: %v", err)
	}
	s.say(":s PONG s :" + fences[1])
	if err := <-results[1]; err != nil {
		t.Errorf("second: %v", err)
	}
}

func TestSilentServer(t *testing.T) {
	s := newScript(t)
	cfg := s.config()
	cfg.Limits.KeepAlive, cfg.Limits.Silence = 30*time.Millisecond, 30*time.Millisecond
	c := s.run(cfg)
	s.accept()
	s.expect("USER")
	s.greet("me")
	s.expect("PING :den-keepalive")
	s.say(":s PONG s :den-keepalive") // it is alive
	s.expect("PING :den-keepalive")
	if e := next(t, c, irc.EventDisconnected); !strings.Contains(fmt.Sprint(e.Err), "silent") {
		t.Errorf("%v", e.Err)
	}
	s.accept() // it comes back
}

func TestNoAnswer(t *testing.T) {
	s := newScript(t)
	cfg := s.config()
	cfg.Limits.Answer = 20 * time.Millisecond
	c := s.run(cfg)
	s.accept()
	s.expect("USER")
	s.greet("me")
	if _, err := c.Who(within(t), "#c"); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
	if _, err := c.Send(within(t), "#c", "x"); fault.KindOf(err) != fault.Unsure {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
}

func TestServerErrors(t *testing.T) {
	for line, want := range map[string]string{
		"ERROR :Closing Link: banned":    "Closing Link: banned",
		":s 465 * :You are banned":       "You are banned",
		":s 464 * :Password incorrect":   "wrong password",
		":s 437 * me :Nick is not there": "",
	} {
		s := newScript(t)
		c := s.run(s.config())
		s.accept()
		s.expect("USER")
		s.say(line)
		if want == "" {
			s.expect("NICK me_")
			continue
		}
		if e := next(t, c, irc.EventDisconnected); !strings.Contains(fmt.Sprint(e.Err), want) {
			t.Errorf("%s: %v", line, e.Err)
		}
	}
}

func TestRejoinFails(t *testing.T) {
	s := newScript(t)
	cfg := s.config()
	cfg.Channels = []irc.ChannelKey{{Name: "#open"}, {Name: "#closed", Key: "k"}}
	c := s.run(cfg)
	s.accept()
	s.expect("USER")
	s.greet("me")
	if got := s.expect("JOIN"); got != "JOIN #closed,#open k" {
		t.Errorf("%q", got)
	}
	s.say(":s 475 me #closed :Bad key", ":me!u@h JOIN #open")
	if e := next(t, c, irc.EventJoinFailed); e.Channel != "#closed" || fault.KindOf(e.Err) != fault.Denied {
		t.Errorf("%+v", e)
	}
	next(t, c, irc.EventJoin)
	if got := c.Joined(); len(got) != 1 || got[0] != "#open" {
		t.Errorf("%q", got)
	}
	s.say(":op!o@h KICK #open me :out")
	next(t, c, irc.EventKick)
	s.conn.Close() // not joined again: it was kicked
	s.accept()
	s.expect("USER")
	s.greet("me")
	if got := s.expect("JOIN"); got != "JOIN #closed k" {
		t.Errorf("%q", got)
	}
}

// Events that nobody takes are dropped, the oldest first, and that is told.
func TestDroppedEvents(t *testing.T) {
	s := newScript(t)
	cfg := s.config()
	cfg.Limits.Events = 10
	c := s.run(cfg)
	s.accept()
	s.expect("USER")
	s.greet("me")
	for i := range 100 {
		s.say(fmt.Sprintf(":a!b@c PRIVMSG me :%d", i))
	}
	s.say("PING x")
	s.expect("PONG :x")
	if e := next(t, c, irc.EventDropped); e.Dropped != 91 { // the event of the connection, too
		t.Errorf("%+v", e)
	}
	if e := next(t, c, irc.EventMessage); e.Text != "90" {
		t.Errorf("%+v", e)
	}
}

// Whatever a server sends, the client answers the PING after it.
func FuzzClient(f *testing.F) {
	f.Add(":me!a@b JOIN #c\n:s 353 me = #c :@me\nBATCH +1 chathistory #c\n@batch=1 :a PRIVMSG #c :x\nBATCH -1\n:me NICK you\n:s 433 me x :y")
	f.Add("@label=1 ACK\nCAP me NEW :sasl\nBATCH -\nBATCH +\n:x KICK #c me\nFAIL A B :c\n:s 005 me -PREFIX :x\nINVITE\nTAGMSG")
	f.Fuzz(func(t *testing.T, lines string) {
		s := newScript(t)
		c := s.run(s.config())
		s.accept()
		s.expect("USER")
		s.greet("me")
		for line := range strings.SplitSeq(lines, "\n") {
			if m, err := irc.Parse(line); err == nil && m.Command != "ERROR" {
				s.say(line)
			}
		}
		s.say("PING the-end")
		s.expect("PONG :the-end")
		c.Close()
	})
}
