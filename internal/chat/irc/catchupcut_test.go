package irc_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// cutConn swallows requests for history, and ends behind a live message.
type cutConn struct {
	net.Conn
	over atomic.Bool
}

func (c *cutConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("CHATHISTORY")) {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.over.Load() {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	c.over.Store(bytes.Contains(p[:n], []byte("live")))
	return n, err
}

// A connection that ends while it reads what was missed leaves all of it to the
// next one.
func TestCatchUpThatIsCutOff(t *testing.T) {
	s := startServer(t, ircd.Config{Dir: t.TempDir()})
	a := connect(t, s.address, "alice", "#c")
	gate, dialled := newGatedDialer(), 0
	cfg := irc.ClientConfig{Address: s.address, Nick: "bob", Limits: fast()}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := gate.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if dialled++; dialled == 2 {
			conn = &cutConn{Conn: conn}
		}
		return conn, nil
	}
	b := connectWith(t, cfg, "#c")
	send := func(text string) {
		t.Helper()
		if _, err := a.Send(within(t), "#c", text); err != nil {
			t.Fatal(err)
		}
	}
	send("one")
	next(t, b, irc.EventMessage)
	gate.cut(t)
	nextOf(t, a, irc.EventQuit, "bob")
	send("missed")
	gate.allowed <- struct{}{}
	nextOf(t, a, irc.EventJoin, "bob")
	send("live")
	gate.allowed <- struct{}{}
	for _, want := range []string{"missed", "live"} {
		if e := next(t, b, irc.EventMessage); e.Text != want {
			t.Errorf("%q came, want %q", e.Text, want)
		}
	}
}
