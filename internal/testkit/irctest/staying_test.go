package irctest_test

import (
	"fmt"

	"den/internal/base/fault"
	"den/internal/chat/irc"
)

func (s *suite) nickInUse() {
	ch := s.channel("c")
	first, second := s.client("agent", ch), s.client("agent", ch)
	if second.Nick() == first.Nick() {
		s.Errorf("two clients are %q", first.Nick())
	}
	s.send(second, first.Nick(), "hello")
	if e := s.heard(first); e.From.Nick != second.Nick() {
		s.Errorf("%+v", e)
	}
	first.Close()
	for e := s.next(second, irc.EventNick); !e.Own || e.Subject != s.nick("agent"); e = s.next(second, irc.EventNick) {
	}
	if second.Nick() != s.nick("agent") {
		s.Errorf("nick %q", second.Nick())
	}
}

// A client that lost its connection comes back: same nick, same channels, and
// sends what was queued meanwhile.
func (s *suite) reconnect() {
	ch, key := s.channel("c"), s.channel("key")
	a := s.client("alice", ch, key)
	s.must(a.SetModes(s.within(), key, "+k", "secret"))
	var wire cable
	cfg := s.config("bob")
	cfg.Dial = wire.dial
	cfg.Channels = []irc.ChannelKey{{Name: ch}}
	b := s.dial(cfg)
	s.must(b.Join(s.within(), key, "secret"))
	wire.setCut(true)
	if e := s.next(b, irc.EventDisconnected); e.Err == nil {
		s.Errorf("%+v", e)
	}
	for s.next(a, irc.EventQuit).From.Nick != s.nick("bob") {
	}
	queued := make(chan error, 1)
	go func() {
		_, err := b.Send(s.within(), ch, "from the queue")
		queued <- err
	}()
	wire.setCut(false)
	if e := s.heard(a); e.Text != "from the queue" || e.From.Nick != s.nick("bob") {
		s.Errorf("%+v", e)
	}
	s.must(<-queued)
	s.must(b.Join(s.within(), key, "")) // waits for the JOIN of the client itself, or does it
	s.send(b, key, "here too")
	if e := s.heard(a); e.Text != "here too" || e.Channel != key {
		s.Errorf("%+v", e)
	}
}

// What was said meanwhile is read from the history, once, or the caller is
// told that something may be missing.
func (s *suite) missed() {
	ch := s.channel("c")
	a := s.client("alice", ch)
	var wire cable
	cfg := s.config("bob")
	cfg.Dial = wire.dial
	b := s.dial(cfg, ch)
	s.send(a, ch, "before")
	s.heard(b)
	wire.setCut(true)
	for s.next(a, irc.EventQuit).From.Nick != s.nick("bob") {
	}
	for i := range 120 {
		s.send(a, ch, fmt.Sprint(i))
	}
	wire.setCut(false)
	if !s.target.History {
		if e := s.next(b, irc.EventGap); e.Time.IsZero() {
			s.Errorf("%+v", e)
		}
		if _, err := b.History(s.within(), ch, irc.Cursor{}, 10); fault.KindOf(err) != fault.Unsupported {
			s.Errorf("%v", err)
		}
		return
	}
	for s.next(a, irc.EventJoin).From.Nick != s.nick("bob") {
	}
	s.send(a, ch, "after")
	for i := range 120 {
		if e := s.heard(b); e.Text != fmt.Sprint(i) || !e.Missed {
			s.Fatalf("message %d: %+v", i, e)
		}
	}
	if e := s.heard(b); e.Text != "after" {
		s.Errorf("%+v", e)
	}
	s.historyPages(b, ch)
}

func (s *suite) historyPages(c *irc.Client, ch string) {
	s.Helper()
	latest, err := c.History(s.within(), ch, irc.Cursor{}, 3)
	if err != nil || len(latest) != 3 || latest[2].Text != "after" || latest[0].Text != "118" {
		s.Errorf("%+v, %v", latest, err)
		return
	}
	after, err := c.History(s.within(), ch, irc.Cursor{ID: latest[0].ID}, 10)
	if err != nil || len(after) != 2 || after[0].Text != "119" {
		s.Errorf("%+v, %v", after, err)
	}
	if _, err := c.History(s.within(), s.channel("foreign"), irc.Cursor{}, 3); err == nil {
		s.Error("the history of a channel that we are not on was read")
	}
}

func (s *suite) login() {
	cfg := s.config("user")
	if s.target.Login == nil {
		cfg.Login = &irc.Login{Account: "a", Password: "b"}
		if _, err := irc.Dial(s.within(), cfg); fault.KindOf(err) != fault.Unsupported {
			s.Errorf("a server without SASL: %v", err)
		}
		return
	}
	cfg.Login = s.target.Login
	c := s.dial(cfg)
	if who, err := c.Whois(s.within(), c.Nick()); err != nil || who.Account != cfg.Login.Account {
		s.Errorf("%+v, %v", who, err)
	}
	cfg.Login = &irc.Login{Account: cfg.Login.Account, Password: "wrong"}
	if _, err := irc.Dial(s.within(), cfg); fault.KindOf(err) != fault.Denied {
		s.Errorf("a wrong password: %v", err)
	}
}

// After Close nothing is sent, and nobody waits.
func (s *suite) close() {
	ch := s.channel("c")
	a, b := s.client("alice", ch), s.client("bob", ch)
	b.Close()
	if e := s.next(a, irc.EventQuit); e.From.Nick != s.nick("bob") {
		s.Errorf("%+v", e)
	}
	if _, err := b.Send(s.within(), ch, "x"); err == nil {
		s.Error("a closed client sent something")
	}
	if err := b.Join(s.within(), ch, ""); err == nil {
		s.Error("a closed client joined something")
	}
	for {
		if _, err := b.Next(s.within()); err == irc.ErrClosed {
			return
		} else if err != nil {
			s.Fatal(err)
		}
	}
}
