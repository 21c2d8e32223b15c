package irctest_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"den/internal/chat/irc"
)

// A Target is a server that the suite runs against, and what it can do.
type Target struct {
	Address string
	TLS     *tls.Config // of the client, or nil: Address speaks plain text
	Login   *irc.Login  // of an account named Login.Account, or nil
	History bool        // it has CHATHISTORY
	Labels  bool        // it has labeled-response and echo-message
}

// Run runs the suite. Names are made for each run, so that a server can be
// used again.
func Run(t *testing.T, target Target) {
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"Register", (*suite).register},
		{"Queries", (*suite).queries},
		{"Operators", (*suite).operators},
		{"Errors", (*suite).errors},
		{"Messages", (*suite).messages},
		{"OwnMessagesOnce", (*suite).ownMessagesOnce},
		{"Split", (*suite).split},
		{"Burst", (*suite).burst},
		{"NickInUse", (*suite).nickInUse},
		{"Reconnect", (*suite).reconnect},
		{"Missed", (*suite).missed},
		{"Login", (*suite).login},
		{"Close", (*suite).close},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&suite{T: t, target: target, tag: tag()})
		})
	}
}

var tags struct {
	sync.Mutex
	next int
}

// tag returns a suffix that no other test of this process uses.
func tag() string {
	tags.Lock()
	defer tags.Unlock()
	tags.next++
	return fmt.Sprint("x", tags.next)
}

type suite struct {
	*testing.T
	target Target
	tag    string
}

// nick and channel are names of this test alone.
func (s *suite) nick(name string) string    { return name + s.tag }
func (s *suite) channel(name string) string { return "#" + name + s.tag }

func (s *suite) within() context.Context {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

// Limits are those of a client that a server does not have to pace.
func Limits() irc.ClientLimits {
	return irc.ClientLimits{LineRate: 1e6, LineBurst: 1000, Queue: 4096, FirstWait: 5 * time.Millisecond, LongWait: 200 * time.Millisecond, Answer: patience}
}

func (s *suite) config(name string) irc.ClientConfig {
	return irc.ClientConfig{Address: s.target.Address, TLS: s.target.TLS, Nick: s.nick(name), Limits: Limits()}
}

func (s *suite) client(name string, channels ...string) *irc.Client {
	s.Helper()
	return s.dial(s.config(name), channels...)
}

func (s *suite) dial(cfg irc.ClientConfig, channels ...string) *irc.Client {
	s.Helper()
	c, err := irc.Dial(s.within(), cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	for _, ch := range channels {
		s.must(c.Join(s.within(), ch, ""))
	}
	return c
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) send(c *irc.Client, target, text string) irc.Receipt {
	s.Helper()
	receipt, err := c.Send(s.within(), target, text)
	s.must(err)
	return receipt
}

// next returns the next event of a kind.
func (s *suite) next(c *irc.Client, kind irc.EventKind) irc.Event {
	s.Helper()
	for {
		e, err := c.Next(s.within())
		if err != nil {
			s.Fatalf("waiting for %s: %v", kind, err)
		}
		if e.Kind == kind {
			return e
		}
	}
}

// heard returns the next message of somebody else. Notices of the server are
// skipped.
func (s *suite) heard(c *irc.Client) irc.Event {
	s.Helper()
	for {
		if e := s.next(c, irc.EventMessage); !e.Own && e.From.User != "" {
			return e
		}
	}
}

// A cable is a network that a test can cut.
type cable struct {
	mu    sync.Mutex // guards the fields below
	conns []net.Conn
	cut   bool
}

func (w *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, fmt.Errorf("the cable is cut")
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

// setCut cuts all connections, or allows new ones.
func (w *cable) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, conn := range w.conns {
		conn.Close() // Best effort: it may be closed already.
	}
	w.conns = nil
}
