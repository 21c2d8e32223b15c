package onirc_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/onirc"
	"den/internal/base/fault"
	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// serve runs a server without a history until the test ends.
func serve(t *testing.T) string {
	t.Helper()
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ircd.New(ircd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}

// What a relay does with a line of a client.
type treatment int

const (
	pass treatment = iota
	drop
	cut // the connection, before the line is passed on
)

// relay passes on what clients send to a server, as treat says, and what the
// server sends.
func relay(t *testing.T, server string, treat func(line string) treatment) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go relayOne(client, server, treat)
		}
	}()
	return l.Addr().String()
}

func relayOne(client net.Conn, server string, treat func(line string) treatment) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return // the server has ended
	}
	defer up.Close()
	go func() { // ends with the server's connection
		io.Copy(client, up)
		client.Close()
	}()
	lines := bufio.NewScanner(client)
	for lines.Scan() {
		switch treat(lines.Text()) {
		case cut:
			return
		case pass:
			if _, err := io.WriteString(up, lines.Text()+"\r\n"); err != nil {
				return
			}
		}
	}
}

// ears is a Hearer that keeps messages.
type ears struct{ heard chan harness.Incoming }

func newEars() ears { return ears{make(chan harness.Incoming, 100)} } // more than a test hears

func (e ears) Heard(m harness.Incoming)   { e.heard <- m }
func (e ears) Invited(harness.Invitation) {}
func (e ears) TopicChanged(string)        {}
func (e ears) Arrived()                   {}

// connect joins #general as the agent "worker".
func connect(t *testing.T, address string, e ears) harness.Chat {
	t.Helper()
	c := harness.Config{Nick: "worker", Channels: []string{"#general"}, Server: harness.Server{Address: address}}
	nothing := func(string) (ipc.Line, bool) { return ipc.Line{}, false }
	chat, err := onirc.Connect(t.Context(), c, nothing, e, t.Logf, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chat.Close)
	return chat
}

// person is somebody in #general who has seen the agent there.
func person(t *testing.T, address, nick, realName string) *irc.Client {
	t.Helper()
	c, err := irc.Dial(t.Context(), irc.ClientConfig{Address: address, Nick: nick, RealName: realName, Limits: irc.ClientLimits{LineRate: 1000, LineBurst: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Join(t.Context(), "#general", ""); err != nil {
		t.Fatal(err)
	}
	for {
		users, err := c.Who(t.Context(), "#general")
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(users, func(u irc.User) bool { return u.Nick == "worker" }) {
			return c
		}
		time.Sleep(time.Millisecond)
	}
}

// A message that was cut off is sent on from where it was, although the server
// keeps no history: what the server has taken is not said twice.
func TestSentOnFromWhereItWasCutOff(t *testing.T) {
	address := serve(t)
	var cutOnce atomic.Bool
	through := relay(t, address, func(line string) treatment {
		if strings.Contains(line, ":four") && cutOnce.CompareAndSwap(false, true) {
			return cut
		}
		return pass
	})
	chat := connect(t, through, newEars())
	bob := person(t, address, "bob", "")
	const text = "one\ntwo\n\nthree\nfour\nfive"
	if err := chat.Send(t.Context(), "#general", text, "m1", false); err == nil {
		t.Fatal("the message was sent although the connection was cut")
	}
	if err := chat.Send(t.Context(), "#general", text, "m1", true); err != nil {
		t.Fatal(err)
	}
	var got []string
	for !slices.Contains(got, "five") {
		e, err := bob.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == irc.EventMessage {
			got = append(got, e.Text)
		}
	}
	if want := []string{"one", "two", "three", "four", "five"}; !slices.Equal(got, want) {
		t.Errorf("bob hears %q, want %q", got, want)
	}
	if err := chat.Send(t.Context(), "#general", text, "m1", true); err != nil { // nothing is known of it any more
		t.Fatal(err)
	}
}

// What an agent says, in any way, is text when it leaves: the server may be one
// that passes on everything.
func TestAgentsSayText(t *testing.T) {
	var mu sync.Mutex // guards sent
	var sent []string
	chat := connect(t, relay(t, serve(t), func(line string) treatment {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, line)
		return pass
	}), newEars())
	const nasty = "see \x1b]0;title\a\u009b31m\x9b \x0301,01hidden\x03 \u202egpj.exe"
	const shown = `see ^[]0;title^G\u009b31m\u009b ^C01,01hidden^C \u202egpj.exe`
	for i, say := range []func() error{
		func() error {
			return chat.Send(t.Context(), "#general", nasty+"\r\n\x01DCC SEND x 1 1 1\x01\n\tlast", "m1", false)
		},
		func() error { return chat.Send(t.Context(), "#general", "\x01VERSION\x01", "", false) },
		func() error { return chat.Notice(t.Context(), "#general", nasty) },
		func() error { return chat.SetTopic(t.Context(), "#general", nasty) },
	} {
		if err := say(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := chat.Join(t.Context(), "#a\x1b[2J"); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(sent, "\n")
	for _, want := range []string{"PRIVMSG #general :" + shown, "PRIVMSG #general :^ADCC SEND", "PRIVMSG #general :\tlast", "PRIVMSG #general :^AVERSION^A", "NOTICE #general :" + shown, "TOPIC #general :" + shown} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if strings.ContainsFunc(all, func(r rune) bool { return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e') }) {
		t.Errorf("%q", all)
	}
}

// On a server that does not mark the messages of programs, agents are known by
// their real names: two of them would answer each other for ever.
func TestAgentsAreKnownByTheirRealNames(t *testing.T) {
	address := serve(t)
	e := newEars()
	connect(t, relay(t, address, func(line string) treatment {
		if strings.HasPrefix(line, "CAP ") {
			return drop // as if the server knew no extensions
		}
		return pass
	}), e)
	checkBots(t, address, e)
}

// checkBots has an agent and a person speak to the one that hears.
func checkBots(t *testing.T, address string, e ears) {
	t.Helper()
	fox, bob := person(t, address, "fox", "fox (den) tags: go"), person(t, address, "bob", "Bob")
	for _, row := range []struct {
		who    *irc.Client
		target string
		bot    bool
	}{
		{fox, "#general", true}, {bob, "#general", false}, {fox, "worker", true}, {bob, "worker", false}, {fox, "worker", true},
	} {
		if _, err := row.who.Send(t.Context(), row.target, "@worker hello"); err != nil {
			t.Fatal(err)
		}
		if m := <-e.heard; m.Bot != row.bot || m.Nick != row.who.Nick() {
			t.Errorf("%s to %s: %+v", row.who.Nick(), row.target, m)
		}
	}
}
