package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/chat/irc"
)

// Lines are sent in windows, each after everybody has received the last, so
// that no server drops a client for reading slowly.
const (
	ircWindow = 100
	ircLines  = 100_000 // delivered in one sample
)

// An ircPattern is who talks with whom.
type ircPattern interface {
	String() string
	connect(address string) (ircRoles, error)
}

// ircRoles are the clients of one sample. Each sender's lines go to all
// receivers, or to its own one.
type ircRoles struct {
	senders, receivers []*ircConn
	windows            [][]byte // of each sender
	each               int      // lines that a receiver gets of one window of all
}

func (r ircRoles) close() { closeIRC(append(r.senders, r.receivers...)) }

// ircChannel is one sender and many receivers on a channel.
type ircChannel struct{ receivers int }

func (p ircChannel) String() string { return fmt.Sprintf("one to %d on a channel", p.receivers) }

func (p ircChannel) connect(address string) (r ircRoles, err error) {
	if r.senders, err = joinIRC(address, "#bench", "s", 1); err != nil {
		return r, err
	}
	r.receivers, err = joinIRC(address, "#bench", "r", p.receivers)
	r.windows, r.each = [][]byte{ircWindowTo("#bench")}, ircWindow
	return r, err
}

// ircDirect is pairs, each of which has a conversation of its own.
type ircDirect struct{ pairs int }

func (p ircDirect) String() string { return fmt.Sprintf("%d pairs, direct messages", p.pairs) }

func (p ircDirect) connect(address string) (r ircRoles, err error) {
	if r.senders, err = joinIRC(address, "#bench", "s", p.pairs); err != nil {
		return r, err
	}
	r.receivers, err = joinIRC(address, "#bench", "r", p.pairs)
	for _, c := range r.receivers {
		r.windows = append(r.windows, ircWindowTo(c.nick))
	}
	r.each = ircWindow
	return r, err
}

func ircWindowTo(target string) []byte {
	return []byte(strings.Repeat("PRIVMSG "+target+" :"+ircText+"\r\n", ircWindow))
}

// ircRates measures how fast lines are delivered, and what that costs.
func (b *bench) ircRates(servers []*ircServer, p ircPattern) error {
	rates := make([]*series, len(servers))
	costs := make([]*series, len(servers))
	for i, s := range servers {
		rates[i] = b.out.series(p.String()+", delivered", s.who, "lines/s", true)
		costs[i] = b.out.series(p.String()+", CPU of the server", s.who, "s a million lines", false)
	}
	lines := pick(b, ircLines, ircLines/5)
	for n := range b.rounds(9, 3) + 1 {
		for i, s := range servers {
			b.calm.await()
			rate, cost, err := s.load(p, lines)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", s.who, p, err)
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

// load delivers about so many lines. It returns how many a second, and the
// seconds of CPU that the server needs for a million.
func (s *ircServer) load(p ircPattern, lines int) (rate, cost float64, err error) {
	roles, err := p.connect(s.address)
	defer roles.close()
	if err != nil {
		return 0, 0, err
	}
	windows := max(lines/(len(roles.receivers)*roles.each), 1)
	before, err := onCPU(s.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	for range windows {
		if err := roles.window(); err != nil {
			return 0, 0, err
		}
	}
	delivered := float64(windows * roles.each * len(roles.receivers))
	rate = delivered / time.Since(begun).Seconds()
	after, err := onCPU(s.cmd.Process.Pid)
	return rate, (after - before).Seconds() / delivered * 1e6, err
}

// window sends a window of each sender and returns when all of it arrived.
func (r ircRoles) window() error {
	results := make(chan error, len(r.receivers)+len(r.senders))
	for i, s := range r.senders {
		go func() {
			_, err := s.conn.Write(r.windows[i])
			results <- err
		}()
	}
	for _, c := range r.receivers {
		go func() { results <- c.count(r.each) }()
	}
	for range cap(results) {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}

// ircConfirmed measures our client: until a message is known to be accepted,
// one after the other, and a thousand at once.
func (b *bench) ircConfirmed(servers []*ircServer) error {
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
