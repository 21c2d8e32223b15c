package irctest_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/onirc"
	"den/internal/chat/irc"
	"den/internal/testkit/need"
)

// The servers' own limits of how much a client may send: nothing is said about
// them, or what the package's configuration says.
const (
	stockNgircd = `[Global]
	Name = irc.test.local
	Info = test
	Listen = 127.0.0.1
	Ports = %d
	MotdPhrase = hello
	ServerUID = root
	ServerGID = root
[Options]
	DNS = no
	Ident = no
	PAM = no
`
	stockInspircd = `<server name="irc.test.local" description="test" network="test">
<admin name="x" nick="x" email="x@x">
<bind address="127.0.0.1" port="PORT" type="clients">
<connect name="main" allow="*" maxchans="30" timeout="10" pingfreq="120" hardsendq="1M" softsendq="8192" recvq="8K" threshold="10" commandrate="1000" fakelag="yes" localmax="3" globalmax="3" useident="no" resolvehostnames="no">
<pid file="DIR/inspircd.pid">
<path configdir="DIR" datadir="DIR" logdir="DIR" moduledir="/usr/lib/inspircd/modules">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="DIR/inspircd.log">
`
)

// hearing keeps the messages to an agent.
type hearing chan harness.Incoming

func (h hearing) Heard(m harness.Incoming) {
	if !m.Own {
		h <- m
	}
}
func (h hearing) Invited(harness.Invitation) {}
func (h hearing) TopicChanged(string)        {}
func (h hearing) Arrived()                   {}

// agentOn joins #general as an agent does.
func agentOn(t *testing.T, address string) (harness.Chat, hearing) {
	t.Helper()
	heard := make(hearing, 100) // more than a test hears
	c := harness.Config{Nick: "worker", Channels: []string{"#general"}, Server: harness.Server{Address: address}}
	chat, err := onirc.Connect(t.Context(), c, func(string) (ipc.Line, bool) { return ipc.Line{}, false }, heard, t.Logf, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chat.Close)
	return chat, heard
}

// personOn is somebody in #general who has seen the agent there.
func personOn(t *testing.T, address, nick, realName string) *irc.Client {
	t.Helper()
	c, err := irc.Dial(t.Context(), irc.ClientConfig{Address: address, Nick: nick, RealName: realName})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Join(t.Context(), "#general", ""); err != nil {
		t.Fatal(err)
	}
	for {
		members, err := c.Names(t.Context(), "#general")
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(members, func(m irc.Member) bool { return m.Nick == "worker" }) {
			return c
		}
		awaitJoin(t, c)
	}
}

func awaitJoin(t *testing.T, c *irc.Client) {
	t.Helper()
	for {
		e, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == irc.EventJoin && !e.Own {
			return
		}
	}
}

// A long answer arrives whole, once and in order on a server with the limits
// that it comes with.
func longAnswer(t *testing.T, address string, lines int) {
	t.Helper()
	chat, _ := agentOn(t, address)
	bob := personOn(t, address, "bob", "Bob")
	var want []string
	for i := range lines {
		want = append(want, fmt.Sprintf("line %d %s", i, strings.Repeat("x", 300)))
	}
	if err := chat.Send(t.Context(), "#general", strings.Join(want, "\n"), "m1", false); err != nil {
		t.Fatal(err)
	}
	for i, line := range want {
		for {
			e, err := bob.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == irc.EventQuit {
				t.Fatalf("%s left after %d lines: %s", e.From.Nick, i, e.Text)
			}
			if e.Kind == irc.EventMessage {
				if e.Text != line {
					t.Fatalf("line %d: %.40q", i, e.Text)
				}
				break
			}
		}
	}
}

// Agents are known as such on a server that does not say it.
func TestStockNgircd(t *testing.T) {
	requireReal(t)
	program := need.Program(t, "ngircd")
	dir, port := scratch(t), freePort(t)
	conf := filepath.Join(dir, "ngircd.conf")
	write(t, conf, fmt.Sprintf(stockNgircd, port))
	daemon(t, exec.Command(program, "-n", "-f", conf))
	address := fmt.Sprint("127.0.0.1:", port)
	listening(t, address)
	t.Run("LongAnswer", func(t *testing.T) { longAnswer(t, address, 60) })
	t.Run("Agents", func(t *testing.T) {
		_, heard := agentOn(t, address)
		fox, bob := personOn(t, address, "fox", "fox (den)"), personOn(t, address, "bob", "Bob")
		for _, c := range []*irc.Client{fox, bob, fox} {
			if _, err := c.Send(t.Context(), "worker", "hello"); err != nil {
				t.Fatal(err)
			}
			if m := <-heard; m.Nick != c.Nick() || m.Bot != (c == fox) {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestStockInspircd(t *testing.T) {
	requireReal(t)
	program := need.Program(t, "inspircd")
	dir, port := scratch(t), freePort(t)
	conf := filepath.Join(dir, "inspircd.conf")
	write(t, conf, strings.NewReplacer("DIR", dir, "PORT", fmt.Sprint(port)).Replace(stockInspircd))
	daemon(t, exec.Command(program, "--runasroot", "--nofork", "--config="+conf))
	address := fmt.Sprint("127.0.0.1:", port)
	listening(t, address)
	longAnswer(t, address, 30) // one a second, after the first ten
}
