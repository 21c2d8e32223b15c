package ircd_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// patience is how long a test waits for what must come. Nothing is measured
// by it.
const patience = 2 * time.Minute

// start runs a server until the test ends.
func start(t *testing.T, cfg ircd.Config) (*ircd.Server, string) {
	t.Helper()
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, cfg, l), l.Addr().String()
}

func startOn(t *testing.T, cfg ircd.Config, listeners ...ircd.Listener) *ircd.Server {
	t.Helper()
	s, stop := serveUntil(t, cfg, listeners...)
	t.Cleanup(stop)
	return s
}

// serveUntil runs a server until it is stopped.
func serveUntil(t *testing.T, cfg ircd.Config, listeners ...ircd.Listener) (s *ircd.Server, stop func()) {
	t.Helper()
	s, err := ircd.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listeners...) }()
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// anybody is a person of this machine.
func anybody(net.Conn) error { return nil }

// A peer is a client that a test drives line by line.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	nick string
}

func dial(t *testing.T, address string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, conn)
}

func newPeer(t *testing.T, conn net.Conn) *peer {
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &peer{t: t, conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
}

func dialTLS(t *testing.T, address string, config *tls.Config) *peer {
	t.Helper()
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, conn)
}

// join registers with capabilities and joins channels.
func join(t *testing.T, address, nick, caps string, channels ...string) *peer {
	t.Helper()
	p := dial(t, address)
	p.register(nick, caps)
	for _, ch := range channels {
		p.send("JOIN %s", ch)
		p.expect("366 " + nick + " " + ch)
	}
	return p
}

func (p *peer) register(nick, caps string) {
	p.t.Helper()
	p.nick = nick
	if caps != "" {
		p.send("CAP REQ :%s", caps)
		p.expect("CAP * ACK")
	}
	p.send("NICK %s", nick)
	p.send("USER %s 0 * :Real %s", nick, nick)
	if caps != "" {
		p.send("CAP END")
	}
	p.expect("422 " + nick)
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.conn, format+"\r\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) read() irc.Message {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%s: read: %v", p.nick, err)
	}
	m, err := irc.Parse(line)
	if err != nil {
		p.t.Fatalf("%s: %q: %v", p.nick, line, err)
	}
	return m
}

// text is a message without tags and source.
func text(m irc.Message) string {
	m.Tags, m.Source = nil, ""
	return m.String()
}

// expect reads until a message begins with this text, and returns it.
func (p *peer) expect(prefix string) irc.Message {
	p.t.Helper()
	var seen []string
	for {
		line, err := p.in.ReadString('\n')
		if err != nil {
			p.t.Fatalf("%s: waiting for %q: %v; got\n%s", p.nick, prefix, err, strings.Join(seen, "\n"))
		}
		m, err := irc.Parse(line)
		if err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		if strings.HasPrefix(text(m), prefix) {
			return m
		}
		seen = append(seen, strings.TrimSpace(line))
	}
}

// sync returns the messages up to the answer to a PING, without it.
func (p *peer) sync() []irc.Message {
	p.t.Helper()
	p.send("PING :sync-token")
	var all []irc.Message
	for {
		m := p.read()
		if m.Command == "PONG" && m.Last() == "sync-token" {
			return all
		}
		all = append(all, m)
	}
}

// do sends a line and returns the answer, one text for each message.
func (p *peer) do(format string, args ...any) []string {
	p.t.Helper()
	p.send(format, args...)
	var all []string
	for _, m := range p.sync() {
		all = append(all, text(m))
	}
	return all
}

// gone waits for the end of the connection and returns the reason of the
// ERROR before it.
func (p *peer) gone() string {
	p.t.Helper()
	reason := ""
	for {
		line, err := p.in.ReadString('\n')
		if err != nil {
			return reason
		}
		if m, err := irc.Parse(line); err == nil && m.Command == "ERROR" {
			reason = m.Last()
		}
	}
}
