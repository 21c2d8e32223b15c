package irctest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/chat/irc"
)

func (s *suite) register() {
	c := s.client("alice")
	if c.Nick() != s.nick("alice") || !c.Connected() {
		s.Errorf("nick %q", c.Nick())
	}
	support := c.ISupport()
	if !support.IsChannel("#x") || support.NickLen < 9 || len(support.Tokens) < 5 {
		s.Errorf("%+v", support)
	}
	if c.HasCap("labeled-response") != s.target.Labels || c.HasCap("draft/chathistory") != s.target.History {
		s.Errorf("labels %v, history %v", c.HasCap("labeled-response"), c.HasCap("draft/chathistory"))
	}
	if _, err := c.Send(s.within(), c.Nick(), "to myself"); err != nil {
		s.Error(err)
	}
}

func (s *suite) queries() {
	ch := s.channel("c")
	a, b := s.client("alice", ch), s.client("bob", ch)
	ctx := s.within()
	s.must(a.Join(ctx, ch, "")) // on it already
	if topic, err := b.Topic(ctx, ch); err != nil || topic != "" {
		s.Errorf("%+v, %v", topic, err)
	}
	s.must(a.SetTopic(ctx, ch, "the topic: of this channel"))
	if topic, err := b.Topic(ctx, ch); err != nil || topic != "the topic: of this channel" {
		s.Errorf("%+v, %v", topic, err)
	}
	if e := s.next(b, irc.EventTopic); e.Text != "the topic: of this channel" || e.Channel != ch {
		s.Errorf("%+v", e)
	}
	members, err := b.Names(ctx, ch)
	if err != nil || len(members) != 2 || !slices.Contains(members, irc.Member{Nick: a.Nick(), Prefixes: "@"}) || !slices.Contains(members, irc.Member{Nick: b.Nick()}) {
		s.Errorf("%+v, %v", members, err)
	}
	if members, err := b.Names(ctx, s.channel("nobody")); err != nil || len(members) != 0 {
		s.Errorf("%+v, %v", members, err)
	}
	users, err := b.Who(ctx, ch)
	if err != nil || len(users) != 2 || !slices.ContainsFunc(users, func(u irc.User) bool {
		return u.Nick == a.Nick() && u.RealName == a.Nick() && u.Channel == ch && !u.Away
	}) {
		s.Errorf("%+v, %v", users, err)
	}
	if users, err := b.Who(ctx, s.nick("nobody")); err != nil || len(users) != 0 {
		s.Errorf("%+v, %v", users, err)
	}
	who, err := b.Whois(ctx, strings.ToUpper(a.Nick()))
	if err != nil || who.Nick != a.Nick() || !slices.Contains(who.Channels, "@"+ch) {
		s.Errorf("%+v, %v", who, err)
	}
	s.listed(b, irc.Listed{Name: ch, Members: 2, Topic: "the topic: of this channel"})
	s.must(b.Part(ctx, ch, "done"))
	if e := s.next(a, irc.EventPart); e.From.Nick != b.Nick() || !strings.Contains(e.Text, "done") {
		s.Errorf("%+v", e)
	}
	if got := b.Joined(); len(got) != 0 {
		s.Errorf("%q", got)
	}
}

// listed ignores modes before the topic, which some servers put there.
func (s *suite) listed(c *irc.Client, want irc.Listed) {
	s.Helper()
	list, err := c.List(s.within())
	if err != nil || !slices.ContainsFunc(list, func(l irc.Listed) bool {
		return l.Name == want.Name && l.Members == want.Members && strings.HasSuffix(l.Topic, want.Topic)
	}) {
		s.Errorf("%+v is not in %+v, %v", want, list, err)
	}
}

func (s *suite) operators() {
	ch := s.channel("ops")
	op, p := s.client("op", ch), s.client("p", ch)
	ctx := s.within()
	s.must(op.Kick(ctx, ch, p.Nick(), "go away"))
	if e := s.next(p, irc.EventKick); e.Subject != p.Nick() || e.Text != "go away" || e.Channel != ch {
		s.Errorf("%+v", e)
	}
	if got := p.Joined(); len(got) != 0 {
		s.Errorf("%q", got)
	}
	s.must(op.SetModes(ctx, ch, "+i"))
	s.must(op.Invite(ctx, p.Nick(), ch))
	if e := s.next(p, irc.EventInvite); e.Channel != ch || e.From.Nick != op.Nick() {
		s.Errorf("%+v", e)
	}
	s.must(p.Join(ctx, ch, ""))
	s.must(op.SetModes(ctx, ch, "+m"))
	if _, err := p.Send(ctx, ch, "x"); fault.KindOf(err) != fault.Denied {
		s.Errorf("%v", err)
	}
	s.must(op.SetModes(ctx, ch, "+v", p.Nick()))
	s.send(p, ch, "voiced")
}

func (s *suite) errors() {
	ch, key, invited := s.channel("c"), s.channel("key"), s.channel("invited")
	op, p := s.client("op", ch, key, invited), s.client("p")
	ctx := s.within()
	s.must(op.SetModes(ctx, key, "+k", "secret"))
	s.must(op.SetModes(ctx, invited, "+i"))
	s.must(op.SetModes(ctx, ch, "+nt"))
	nobody, nowhere := s.nick("nobody"), s.channel("nowhere")
	check := func(doing string, err error, codes ...string) {
		s.Helper()
		var refusal *irc.Refusal
		if !errors.As(err, &refusal) || !slices.Contains(codes, refusal.Code) {
			s.Errorf("%s: %v, want %v", doing, err, codes)
		}
	}
	for _, target := range []string{nobody, nowhere, ch} {
		_, err := p.Send(ctx, target, "x")
		check("send to "+target, err, map[string][]string{
			nobody: {irc.ERR_NOSUCHNICK}, nowhere: {irc.ERR_NOSUCHCHANNEL, irc.ERR_NOSUCHNICK}, ch: {irc.ERR_CANNOTSENDTOCHAN},
		}[target]...)
	}
	check("join without the key", p.Join(ctx, key, ""), irc.ERR_BADCHANNELKEY)
	check("join with another key", p.Join(ctx, key, "guess"), irc.ERR_BADCHANNELKEY)
	check("join uninvited", p.Join(ctx, invited, ""), irc.ERR_INVITEONLYCHAN)
	check("join a bad name", p.Join(ctx, "nohash", ""), irc.ERR_NOSUCHCHANNEL, irc.ERR_BADCHANMASK)
	check("part", p.Part(ctx, ch, ""), irc.ERR_NOTONCHANNEL)
	check("part nowhere", p.Part(ctx, nowhere, ""), irc.ERR_NOSUCHCHANNEL)
	check("set topic", p.SetTopic(ctx, ch, "x"), irc.ERR_NOTONCHANNEL)
	_, err := p.Whois(ctx, nobody)
	check("whois", err, irc.ERR_NOSUCHNICK)
	check("invite", p.Invite(ctx, nobody, ch), irc.ERR_NOSUCHNICK, irc.ERR_NOTONCHANNEL)
	s.must(p.Join(ctx, key, "secret"))
	s.must(p.Join(ctx, ch, ""))
	check("set topic as a member", p.SetTopic(ctx, ch, "x"), irc.ERR_CHANOPRIVSNEEDED)
	check("kick as a member", p.Kick(ctx, ch, op.Nick(), ""), irc.ERR_CHANOPRIVSNEEDED)
	check("modes as a member", p.SetModes(ctx, ch, "+m"), irc.ERR_CHANOPRIVSNEEDED)
	check("kick nobody", op.Kick(ctx, ch, nobody, ""), irc.ERR_USERNOTINCHANNEL, irc.ERR_NOSUCHNICK)
	// An error is of one message: those around it are not touched.
	results := make(chan error, 20)
	for i := range 20 {
		target := ch
		if i%2 == 0 {
			target = nobody
		}
		go func() {
			_, err := p.Send(ctx, target, fmt.Sprint(i))
			if target == nobody && fault.KindOf(err) == fault.NotFound {
				err = nil
			} else if target == nobody {
				err = fmt.Errorf("to nobody: %v", err)
			}
			results <- err
		}()
	}
	for range 20 {
		if err := <-results; err != nil {
			s.Error(err)
		}
	}
}
