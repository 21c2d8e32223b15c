package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"den/internal/chat/irc"
)

// ircText is of the length that people and agents write to each other.
const ircText = "a line of about eighty characters, as people and agents write them to each other"

// chats measures our chat server beside others, with the same load.
func chats(b *bench) error {
	servers, err := b.startIRC()
	for _, s := range servers {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	// Before the load: memory of idle clients is what no earlier load has left.
	if err := b.ircClients(servers); err != nil {
		return err
	}
	for _, n := range pick(b, []int{10, 50, 200}, []int{10, 50}) {
		if err := b.ircRates(servers, ircChannel{receivers: n}); err != nil {
			return err
		}
	}
	if err := b.ircRates(servers, ircDirect{pairs: 10}); err != nil {
		return err
	}
	if err := b.ircLoadMemory(servers); err != nil {
		return err
	}
	if err := b.ircConfirmed(servers); err != nil {
		return err
	}
	b.out.note("the clients share the cores with the server; CPU is that of the server alone")
	return nil
}

// An ircConn is a plain connection without extensions.
type ircConn struct {
	nick string
	conn net.Conn
	in   *bufio.Reader
}

// ircNicks counts the nicks that were used. None is used again: a server may
// take a moment to forget one.
var ircNicks atomic.Int64

// dialIRC connects to HOST:PORT, or to a socket.
func dialIRC(address, prefix string) (*ircConn, error) {
	nick, network := fmt.Sprint(prefix, ircNicks.Add(1)), "tcp"
	if filepath.IsAbs(address) {
		network = "unix"
	}
	conn, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(10 * time.Minute))
	c := &ircConn{nick, conn, bufio.NewReaderSize(conn, 16<<10)}
	if _, err := fmt.Fprintf(conn, "NICK %s\r\nUSER %s 0 * :%s\r\n", nick, nick, nick); err != nil {
		conn.Close() // Best effort: nothing was said.
		return nil, err
	}
	// 376 and 422 end the greeting.
	if err := c.until(func(m irc.Message) bool { return m.Command == "376" || m.Command == "422" }); err != nil {
		conn.Close() // Best effort: nothing was said.
		return nil, err
	}
	return c, nil
}

// joinIRC connects clients and has them join a channel, many at once: some
// servers take a second to greet one.
func joinIRC(address, channel, prefix string, n int) ([]*ircConn, error) {
	all := make([]*ircConn, n)
	_, err := atOnce(context.Background(), n, 50, func(i int) error {
		c, err := dialIRC(address, prefix)
		if err == nil {
			all[i] = c
			err = c.join(channel)
		}
		return err
	})
	if err != nil {
		closeIRC(slices.DeleteFunc(all, func(c *ircConn) bool { return c == nil }))
		return nil, err
	}
	return all, nil
}

// closeIRC ends connections, and returns when the server has.
func closeIRC(all []*ircConn) {
	for _, c := range all {
		fmt.Fprint(c.conn, "QUIT\r\n") // Best effort: the server may have closed it.
	}
	for _, c := range all {
		c.until(func(irc.Message) bool { return false }) // Best effort: it ends with the connection.
		c.conn.Close()
	}
}

func (c *ircConn) send(format string, args ...any) error {
	_, err := fmt.Fprintf(c.conn, format+"\r\n", args...)
	return err
}

func (c *ircConn) join(channel string) error {
	if err := c.send("JOIN %s", channel); err != nil {
		return err
	}
	return c.until(func(m irc.Message) bool { return m.Command == "366" })
}

// until reads until a message is found, and answers PINGs.
func (c *ircConn) until(found func(irc.Message) bool) error {
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return err
		}
		m, err := irc.Parse(line)
		if err != nil {
			return err
		}
		if m.Command == "PING" {
			fmt.Fprintf(c.conn, "PONG :%s\r\n", m.Last()) // Best effort: the next read reports a closed connection.
		}
		if found(m) {
			return nil
		}
	}
}

var privmsg = []byte(" PRIVMSG ")

// count reads n messages of others.
func (c *ircConn) count(n int) error {
	for n > 0 {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.Contains(line, privmsg) {
			n--
		}
	}
	return nil
}
