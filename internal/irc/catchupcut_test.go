package irc_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"den/internal/irc"
	"den/internal/irc/ircd"
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
	conns, gate, dialled := make(chan net.Conn, 10), make(chan struct{}, 10), 0
	gate <- struct{}{}
	cfg := irc.ClientConfig{Address: s.address, Nick: "bob", Limits: fast()}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if dialled++; dialled == 2 && err == nil {
			conn = &cutConn{Conn: conn}
		}
		conns <- conn
		return conn, err
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
	(<-conns).Close()
	for next(t, a, irc.EventQuit).From.Nick != "bob" {
	}
	send("missed")
	gate <- struct{}{}
	for next(t, a, irc.EventJoin).From.Nick != "bob" {
	}
	send("live")
	gate <- struct{}{}
	for _, want := range []string{"missed", "live"} {
		if e := next(t, b, irc.EventMessage); e.Text != want {
			t.Errorf("%q came, want %q", e.Text, want)
		}
	}
}
