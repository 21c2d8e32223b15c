package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"den/internal/irc"
)

// The load: one sender and receivers on one channel. Lines are sent in
// windows, each after everybody has received the last, so that no server drops
// a client for reading slowly.
const (
	ircReceivers = 10
	ircWindow    = 100
	ircText      = "a line of about eighty characters, as people and agents write them to each other"
)

// chats measures our chat server beside others, with the same load.
func chats(b *bench) error {
	servers, err := b.startIRC()
	for _, s := range servers {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	if err := b.fanOut(servers); err != nil {
		return err
	}
	if err := b.confirmed(servers); err != nil {
		return err
	}
	return b.idleClients(servers)
}

// fanOut counts the lines that receivers get from one sender, by plain
// sockets.
func (b *bench) fanOut(servers []*ircServer) error {
	const of = "one to ten, lines delivered"
	windows := b.rounds(100, 20)
	rates := make([]*series, len(servers))
	costs := make([]*series, len(servers))
	for i, s := range servers {
		rates[i] = b.out.series(of, s.who, "/s", true)
		costs[i] = b.out.series("CPU of the server", s.who, "µs a line delivered", false)
	}
	for n := range b.rounds(11, 3) + 1 {
		for i, s := range servers {
			b.calm.await()
			rate, cost, err := s.fanOut(windows)
			if err != nil {
				return fmt.Errorf("%s: %w", s.who, err)
			}
			if n > 0 { // the first round warms up
				rates[i].add(rate)
				costs[i].add(cost)
			}
		}
	}
	compare(rates[0], rates[1:]...)
	compare(costs[0], costs[1:]...)
	return nil
}

func (s *ircServer) fanOut(windows int) (rate, cost float64, err error) {
	sender, err := dialIRC(s.address, "sender")
	if err != nil {
		return 0, 0, err
	}
	defer sender.close()
	if err := sender.join("#bench"); err != nil {
		return 0, 0, err
	}
	var receivers []*ircConn
	for i := range ircReceivers {
		r, err := dialIRC(s.address, fmt.Sprint("r", i))
		if err != nil {
			return 0, 0, err
		}
		defer r.close()
		if err := r.join("#bench"); err != nil {
			return 0, 0, err
		}
		receivers = append(receivers, r)
	}
	window := []byte(strings.Repeat("PRIVMSG #bench :"+ircText+"\r\n", ircWindow))
	user, system, err := cpuOf(s.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	results := make(chan error, ircReceivers)
	begun := time.Now()
	for range windows {
		if _, err := sender.conn.Write(window); err != nil {
			return 0, 0, err
		}
		for _, r := range receivers {
			go func() { results <- r.count(ircWindow) }()
		}
		for range receivers {
			if err := <-results; err != nil {
				return 0, 0, err
			}
		}
	}
	lines := float64(windows * ircWindow * ircReceivers)
	rate = lines / time.Since(begun).Seconds()
	user2, system2, err := cpuOf(s.cmd.Process.Pid)
	cost = float64((user2 + system2 - user - system).Microseconds()) / lines
	return rate, cost, err
}

// An ircConn is a plain connection without extensions.
type ircConn struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialIRC(address, nick string) (*ircConn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	c := &ircConn{conn, bufio.NewReaderSize(conn, 64<<10)}
	if _, err := fmt.Fprintf(conn, "NICK %s\r\nUSER %s 0 * :%s\r\n", nick, nick, nick); err != nil {
		return nil, err
	}
	// 376 and 422 end the greeting.
	return c, c.until(func(m irc.Message) bool { return m.Command == "376" || m.Command == "422" })
}

func (c *ircConn) close() {
	fmt.Fprint(c.conn, "QUIT\r\n") // Best effort: the server may have closed it.
	c.until(func(m irc.Message) bool { return m.Command == "ERROR" })
	c.conn.Close()
}

func (c *ircConn) join(channel string) error {
	if _, err := fmt.Fprintf(c.conn, "JOIN %s\r\n", channel); err != nil {
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

// count reads n messages of the sender.
func (c *ircConn) count(n int) error {
	for n > 0 {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if strings.Contains(string(line), " PRIVMSG ") {
			n--
		}
	}
	return nil
}

// confirmed measures our client: until a message is known to be accepted, one
// after the other, and a thousand at once.
func (b *bench) confirmed(servers []*ircServer) error {
	one := make([]*series, len(servers))
	many := make([]*series, len(servers))
	clients := make([]*irc.Client, len(servers))
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Minute)
	defer cancel()
	for i, s := range servers {
		one[i] = b.out.series("den's client, Send until it is accepted", s.who, "ms", false)
		many[i] = b.out.series("den's client, 1000 messages at once, accepted", s.who, "/s", true)
		c, err := irc.Dial(ctx, irc.ClientConfig{Address: s.address, Nick: "client", Limits: irc.ClientLimits{LineRate: 1e9, LineBurst: 1 << 30, Queue: 5000}})
		if err != nil {
			return fmt.Errorf("%s: %w", s.who, err)
		}
		defer c.Close()
		if err := c.Join(ctx, "#client", ""); err != nil {
			return fmt.Errorf("%s: %w", s.who, err)
		}
		clients[i] = c
	}
	thousand := strings.Repeat(ircText+"\n", 1000)
	for range b.rounds(11, 3) {
		for i, s := range servers {
			b.calm.await()
			for range 20 {
				begun := time.Now()
				if _, err := clients[i].Send(ctx, "#client", ircText); err != nil {
					return fmt.Errorf("%s: %w", s.who, err)
				}
				one[i].add(time.Since(begun).Seconds() * 1000)
			}
			begun := time.Now()
			if _, err := clients[i].Send(ctx, "#client", thousand); err != nil {
				return fmt.Errorf("%s: %w", s.who, err)
			}
			many[i].add(1000 / time.Since(begun).Seconds())
		}
	}
	compare(one[0], one[1:]...)
	compare(many[0], many[1:]...)
	return nil
}

// idleClients measures what a client costs that only listens.
func (b *bench) idleClients(servers []*ircServer) error {
	n := b.rounds(500, 100)
	of := fmt.Sprintf("memory of the server, %d clients on a channel", n)
	var first *series
	for _, s := range servers {
		empty, err := readMemory(s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		for i := range n {
			c, err := dialIRC(s.address, fmt.Sprint("idle", i))
			if err != nil {
				return fmt.Errorf("%s: %w", s.who, err)
			}
			defer c.conn.Close()
			if err := c.join("#idle"); err != nil {
				return fmt.Errorf("%s: %w", s.who, err)
			}
			go c.until(func(irc.Message) bool { return false }) // reads until it is closed
		}
		full, err := readMemory(s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		line := b.out.one(of, s.who, "MB", full.pss)
		line.Note = fmt.Sprintf("%.1f MB before the first, %.1f KB a client", empty.pss, (full.pss-empty.pss)*1000/float64(n))
		if first == nil {
			first = line
		} else {
			compare(first, line)
		}
	}
	return nil
}
