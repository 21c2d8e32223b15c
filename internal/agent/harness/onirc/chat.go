// Package onirc is a harness's place on an IRC server.
package onirc

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/chat/irc"
)

// idTag marks each line that the agent says with an id of ours, so that it can
// be found again where nobody knows whether the server took it.
const idTag = "+den.local/id"

// chat is a harness.Chat over an IRC client.
type chat struct {
	client *irc.Client
	nick   string // as it was configured
	tags   []string
	logf   func(string, ...any)
	halves halves
	end    context.CancelFunc
	heard  sync.WaitGroup
}

var _ harness.Chat = (*chat)(nil)

// Connect joins the channels of a harness. It returns at once: until the
// server can be reached, and whenever it cannot, the client tries again.
func Connect(_ context.Context, c harness.Config, since func(string) (ipc.Line, bool), hearer harness.Hearer, logf func(string, ...any), getenv func(string) string) (harness.Chat, error) {
	config, err := clientConfig(c, getenv)
	if err != nil {
		return nil, err
	}
	for _, name := range c.Channels {
		config.Channels = append(config.Channels, irc.ChannelKey{Name: name})
	}
	for _, name := range c.Channels {
		if line, ok := since(name); ok {
			config.Cursors[name] = irc.Cursor{ID: line.ID, Time: line.At}
		}
	}
	if line, ok := since(c.Nick); ok {
		config.DirectSince = line.At
	}
	client, err := irc.NewClient(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ch := &chat{client: client, nick: c.Nick, tags: irc.TopicTags(irc.FormatTags(c.Tags)), logf: logf, end: cancel}
	go client.Run(ctx) // Close ends it and waits for it
	ch.heard.Go(func() { ch.listen(hearer) })
	return ch, nil
}

// clientConfig is how the server is reached.
func clientConfig(c harness.Config, getenv func(string) string) (irc.ClientConfig, error) {
	config := irc.ClientConfig{
		Address: c.Server.Address, Dial: dial, Nick: c.Nick, RealName: realName(c), Bot: true, Cursors: map[string]irc.Cursor{},
		Limits: irc.ClientLimits{Queue: 4096},
	}
	if c.Server.Own {
		// Answers must not wait behind each other for long, and den's server
		// takes more. Others disconnect who sends so much.
		config.Limits.LineRate, config.Limits.LineBurst = 50, 200
	}
	if c.Server.TLS {
		host, _, err := net.SplitHostPort(c.Server.Address)
		if err != nil {
			return config, fault.Errorf(fault.Usage, "connect to the server: %w", err)
		}
		config.TLS = &tls.Config{ServerName: host, InsecureSkipVerify: c.Server.Insecure}
	}
	if c.Server.Account != "" {
		config.Login = &irc.Login{Account: c.Server.Account, Password: getenv(c.Server.PasswordEnv)}
	}
	if c.Server.PasswordFile != "" {
		password, err := os.ReadFile(c.Server.PasswordFile)
		if err != nil {
			return config, fault.Errorf(fault.Storage, "read the server's password: %w", err)
		}
		config.Password = strings.TrimSpace(string(password))
	}
	return config, nil
}

// dial connects. A socket must be one of this user: whoever listens there has
// the agent work.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if unix, ok := conn.(*net.UnixConn); ok && err == nil {
		if err = rpc.CheckServer(unix); err != nil {
			conn.Close() // Best effort: nothing was sent.
		}
	}
	return conn, err
}

func realName(c harness.Config) string {
	return irc.Clean(strings.TrimSpace(c.Nick + " " + agentMark + " " + irc.FormatTags(c.Tags)))
}

// listen hands on what comes until the client has ended.
func (c *chat) listen(hearer harness.Hearer) {
	others := agents{client: c.client, logf: c.logf}
	for {
		e, err := c.client.Next(context.Background())
		if err != nil {
			return
		}
		switch e.Kind {
		case irc.EventMessage:
			if m, ok := incoming(e); ok {
				m.Bot = m.Bot || c.isToAgent(m) && others.isProgram(m.Nick)
				hearer.Heard(m)
			}
		case irc.EventInvite:
			if c.Same(e.Subject, c.client.Nick()) {
				hearer.Invited(harness.Invitation{Channel: e.Channel, Nick: e.From.Nick})
			}
		case irc.EventTopic:
			hearer.TopicChanged(e.Channel)
		case irc.EventJoin:
			if e.Own {
				hearer.TopicChanged(e.Channel)
			} else {
				hearer.Arrived()
			}
		case irc.EventConnected:
			c.logf("connected to the server as %s", c.client.Nick())
		case irc.EventDisconnected, irc.EventJoinFailed:
			c.logf("%s: %v", e.Kind, e.Err)
		case irc.EventGap:
			c.logf("messages since %s may be missing: %s", e.Time.Format(time.RFC3339), gapText(e))
		case irc.EventDropped:
			c.logf("%d events were dropped", e.Dropped)
		}
	}
}

// gapText says why messages may be missing.
func gapText(e irc.Event) string {
	if e.Err == nil {
		return "the server keeps none"
	}
	return strings.TrimSpace(e.Channel + " " + e.Err.Error())
}

// isToAgent reports whether a message is one that the agent may answer.
func (c *chat) isToAgent(m harness.Incoming) bool {
	return !m.Own && !m.Notice && (!c.IsChannel(m.Target) || c.Mentioned(m.Text))
}

// incoming is a message as the harness hears it. ok is false for what is not
// meant to be read: messages without text, and requests of one program to
// another. An action is what its sender typed.
func incoming(e irc.Event) (m harness.Incoming, ok bool) {
	text := e.Text
	if command, rest, isRequest := irc.CTCP(text); isRequest {
		if command != "ACTION" {
			return m, false
		}
		text = "/me " + rest
	}
	return harness.Incoming{
		Target: e.Target, Nick: e.From.Nick, Account: e.Account, Text: text, At: e.Time, ID: e.ID,
		Own: e.Own, Notice: e.Command == "NOTICE", Bot: e.Bot, Missed: e.Missed,
	}, e.Command != "TAGMSG"
}

func (c *chat) Nick() string       { return c.client.Nick() }
func (c *chat) Connected() bool    { return c.client.Connected() }
func (c *chat) Channels() []string { return c.client.Joined() }

func (c *chat) Mentioned(text string) bool { return c.Addresses(text, c.nick) }

func (c *chat) Addresses(text, nick string) bool {
	return irc.Mentions(text, nick, c.client.ISupport().CaseMapping)
}

func (c *chat) IsChannel(name string) bool {
	server := c.client.ISupport()
	return server.IsChannel(name)
}

func (c *chat) Same(a, b string) bool { return c.client.ISupport().CaseMapping.Equal(a, b) }

func (c *chat) Join(ctx context.Context, channel string) error {
	if irc.Clean(channel) != channel {
		return fault.Errorf(fault.Usage, "join %q: a channel's name has no control characters", channel)
	}
	return c.client.Join(ctx, channel, "")
}
func (c *chat) Part(ctx context.Context, channel string) error {
	return c.client.Part(ctx, channel, "")
}

func (c *chat) SetTopic(ctx context.Context, channel, topic string) error {
	return c.client.SetTopic(ctx, channel, irc.Clean(topic))
}

func (c *chat) Topic(ctx context.Context, channel string) (string, error) {
	return c.client.Topic(ctx, channel)
}

func (c *chat) Invite(ctx context.Context, nick, channel string) error {
	return c.client.Invite(ctx, nick, channel)
}

func (c *chat) Tags(topic string) []string { return irc.TopicTags(topic) }
func (c *chat) OwnTags() []string          { return c.tags }

func (c *chat) Who(ctx context.Context, target string) ([]ipc.Person, error) {
	users, err := c.client.Who(ctx, target)
	people := []ipc.Person{}
	for _, u := range users {
		people = append(people, personOf(u))
	}
	return people, err
}

func (c *chat) Everybody(ctx context.Context) ([]ipc.Person, error) { return c.Who(ctx, "*") }

func personOf(u irc.User) ipc.Person {
	p := ipc.Person{Nick: u.Nick, Account: u.Account, Real: u.RealName, Away: u.Away}
	if p.Agent = strings.Contains(u.RealName, agentMark); p.Agent {
		p.Tags = irc.TopicTags(u.RealName)
	}
	return p
}

// Notice says something that programs do not answer.
func (c *chat) Notice(ctx context.Context, target, text string) error {
	_, err := c.client.Notice(ctx, target, irc.Clean(text))
	return err
}

// Send says text line by line. With again, lines that the server has already
// are left out: those of which it told that, and those in its history.
func (c *chat) Send(ctx context.Context, target, text, id string, again bool) error {
	todo, begun := half{}, false
	var there map[string]bool
	if again && id != "" {
		var err error
		if there, err = c.said(ctx, target); err != nil {
			return err
		}
		todo, begun = c.halves.take(id, target, text)
	}
	if !begun {
		todo = half{id: id, target: target, text: text, rest: c.lines(target, text)}
	}
	err := c.sayRest(ctx, &todo, there)
	if err != nil && id != "" {
		c.halves.keep(todo)
	}
	return err
}

// lines cuts a text, in which nothing drives the terminals of its readers. It is
// cut here and not by the client, so that each line has its own id.
func (c *chat) lines(target, text string) []string {
	return slices.DeleteFunc(c.client.Split(target, irc.Clean(strings.ReplaceAll(text, "\r\n", "\n"))), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// sayRest says what is left of a message, but for the lines that are there.
func (c *chat) sayRest(ctx context.Context, todo *half, there map[string]bool) error {
	for len(todo.rest) > 0 {
		lineID := fmt.Sprintf("%s.%d", todo.id, todo.said+1)
		var tags irc.Tags
		if todo.id != "" {
			tags = irc.Tags{{Key: idTag, Value: lineID}}
		}
		if !there[lineID] {
			if _, err := c.client.SendTagged(ctx, todo.target, todo.rest[0], tags); err != nil {
				return err
			}
		}
		todo.said, todo.rest = todo.said+1, todo.rest[1:]
	}
	return nil
}

// lookBack is how much of the history is searched for what the agent said, in
// pages of a size that servers give.
const (
	lookBack = 5000
	page     = 100
)

// said returns the ids of what the agent said lately. A server without a
// history knows none.
func (c *chat) said(ctx context.Context, target string) (map[string]bool, error) {
	if err := c.client.Ready(ctx); err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	events, err := c.client.History(ctx, target, irc.Cursor{}, page)
	for seen := len(events); err == nil && len(events) > 0; seen += len(events) {
		for _, e := range events {
			if id := e.Tags.Value(idTag); id != "" && e.Own {
				ids[id] = true
			}
		}
		if seen >= lookBack {
			break
		}
		events, err = c.client.HistoryBefore(ctx, target, irc.Cursor{ID: events[0].ID, Time: events[0].Time}, page)
	}
	if kind := fault.KindOf(err); err != nil && kind != fault.Unsupported && kind != fault.NotFound {
		return nil, err
	}
	return ids, nil
}

// Close leaves the server.
func (c *chat) Close() {
	c.client.Close()
	c.end()
	c.heard.Wait()
}
