package irctest_test

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"den/internal/chat/irc"
)

func (s *suite) messages() {
	ch := s.channel("c")
	a, b := s.client("alice", ch), s.client("bob", ch)
	receipt := s.send(a, ch, "hello")
	if !receipt.Certain || receipt.Lines != 1 || receipt.Time.IsZero() || s.target.Labels && receipt.ID == "" {
		s.Errorf("%+v", receipt)
	}
	e := s.heard(b)
	if e.Text != "hello" || e.Channel != ch || e.From.Nick != a.Nick() || e.Command != "PRIVMSG" || e.ID != receipt.ID {
		s.Errorf("%+v", e)
	}
	// Names are equal whatever their case; {} and [] depend on the server.
	s.send(a, strings.ToUpper(ch), "upper")
	if e := s.heard(b); e.Text != "upper" {
		s.Errorf("%+v", e)
	}
	s.send(b, strings.ToUpper(a.Nick()), "direct")
	if e := s.heard(a); e.Text != "direct" || e.Channel != "" || e.Peer != b.Nick() {
		s.Errorf("%+v", e)
	}
	if _, err := b.Notice(s.within(), a.Nick(), "note"); err != nil {
		s.Error(err)
	}
	if e := s.heard(a); e.Text != "note" || e.Command != "NOTICE" {
		s.Errorf("%+v", e)
	}
	for _, text := range []string{":)", " leading", "a:b", "ünï¢ode 日本", "\x01ACTION waves\x01", "@" + a.Nick() + ": hi", "x;y\\z"} {
		s.send(a, ch, text)
		if e := s.heard(b); e.Text != text {
			s.Errorf("%q became %q", text, e.Text)
		}
	}
	// Lines of one text are messages; nothing of it is a command.
	s.send(a, ch, "one\r\nQUIT :two\n\nthree\x00!")
	for _, want := range []string{"one", "QUIT :two", "three!"} {
		if e := s.heard(b); e.Text != want {
			s.Errorf("%q, want %q", e.Text, want)
		}
	}
	s.must(a.SetAway(s.within(), "at lunch"))
	if receipt := s.send(b, a.Nick(), "there?"); s.target.Labels && receipt.Away != "at lunch" {
		s.Errorf("%+v", receipt)
	}
	s.must(a.SetAway(s.within(), ""))
}

// Our messages are in our stream once, whether the server returns them or not.
func (s *suite) ownMessagesOnce() {
	ch := s.channel("c")
	a := s.client("alice", ch)
	for i := range 3 {
		s.send(a, ch, fmt.Sprint(i))
	}
	for i := range 3 {
		if e := s.ownNext(a); e.Text != fmt.Sprint(i) || e.Channel != ch {
			s.Errorf("%+v", e)
		}
	}
}

func (s *suite) ownNext(c *irc.Client) irc.Event {
	s.Helper()
	for {
		if e := s.next(c, irc.EventMessage); e.Own {
			return e
		}
	}
}

// Long text arrives whole, in lines that are as long as they can be.
func (s *suite) split() {
	ch := s.channel("split")
	a, b := s.client("alice", ch), s.client("bob", ch)
	for _, text := range []string{
		strings.Repeat("x", 1500),
		strings.Repeat("日", 600),
		strings.Repeat("some words of a sentence ", 80) + "end",
		"é" + strings.Repeat("🙂", 300),
	} {
		for _, target := range []string{ch, b.Nick()} {
			receipt := s.send(a, target, text)
			got := ""
			for range receipt.Lines {
				e := s.heard(b)
				if !utf8.ValidString(e.Text) {
					s.Errorf("a character was cut: %q", e.Text)
				}
				got += e.Text
			}
			if got != text {
				s.Errorf("%d bytes to %s became %d: %q", len(text), target, len(got), got)
			}
			if most := len(text)/330 + 1; receipt.Lines > most {
				s.Errorf("%d bytes in %d lines, want at most %d", len(text), receipt.Lines, most)
			}
		}
	}
}

// Many messages at once all arrive, in order, and each sender knows.
func (s *suite) burst() {
	const messages = 300
	ch := s.channel("burst")
	a, b := s.client("alice", ch), s.client("bob", ch)
	results := make(chan error, 1)
	go func() {
		var text strings.Builder
		for i := range messages {
			fmt.Fprintln(&text, i)
		}
		receipt, err := a.Send(s.within(), ch, text.String())
		if err == nil && receipt.Lines != messages {
			err = fmt.Errorf("%d lines", receipt.Lines)
		}
		results <- err
	}()
	for i := range messages {
		if e := s.heard(b); e.Text != fmt.Sprint(i) {
			s.Fatalf("message %d is %q", i, e.Text)
		}
	}
	s.must(<-results)
}
