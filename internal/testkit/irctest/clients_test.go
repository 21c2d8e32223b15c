package irctest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
	"den/internal/testkit/need"

	"github.com/creack/pty"
)

// room is the channel of these tests.
const room = "#room"

// patience is how long a test waits for what must come. Nothing is measured by
// it.
const patience = time.Minute

// A meeting is our server with our client on it, which waits for another
// program in the room.
type meeting struct {
	*testing.T
	host, port string
	alice      *irc.Client
}

func meet(t *testing.T) *meeting {
	t.Helper()
	requireReal(t)
	t.Parallel()
	accounts, err := ircd.OpenAccounts(filepath.Join(t.TempDir(), "accounts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Set("guest", "secret"); err != nil {
		t.Fatal(err)
	}
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, ircd.Config{Dir: t.TempDir(), MOTD: []string{"hello"}, Accounts: accounts}, l)
	m := &meeting{T: t}
	if m.host, m.port, err = net.SplitHostPort(address); err != nil {
		t.Fatal(err)
	}
	cfg := irc.ClientConfig{Address: address, Nick: "alice", Channels: []irc.ChannelKey{{Name: room}}, Limits: Limits()}
	if m.alice, err = irc.Dial(m.within(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.alice.Close)
	m.say("said before")
	return m
}

func (m *meeting) within() context.Context {
	m.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	m.Cleanup(cancel)
	return ctx
}

func (m *meeting) say(text string) {
	m.Helper()
	if _, err := m.alice.Send(m.within(), room, text); err != nil {
		m.Fatal(err)
	}
}

// hear waits until alice hears a text in the room, and returns who said it.
func (m *meeting) hear(text string) string {
	m.Helper()
	for {
		e, err := m.alice.Next(m.within())
		if err != nil {
			m.Fatalf("waiting for %q: %v", text, err)
		}
		if e.Kind == irc.EventMessage && e.Text == text && !e.Own {
			return e.From.Nick
		}
	}
}

// joined waits until somebody joins the room.
func (m *meeting) joined(nick string) {
	m.Helper()
	for {
		e, err := m.alice.Next(m.within())
		if err != nil {
			m.Fatalf("waiting for %s: %v", nick, err)
		}
		if e.Kind == irc.EventJoin && e.From.Nick == nick {
			return
		}
	}
}

// eventually waits until something outside of this process is true.
func (m *meeting) eventually(what string, ok func() bool) {
	m.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			m.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(20 * time.Millisecond) // another program does it, and does not tell
	}
}

// fileHas waits until a file contains text.
func (m *meeting) fileHas(path, text string) {
	m.Helper()
	m.eventually(fmt.Sprintf("%q in %s", text, path), func() bool {
		data, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(data), text)
	})
}

// writeFIFO writes to a pipe that another program reads.
func (m *meeting) writeFIFO(path, text string) {
	m.Helper()
	m.eventually(path, func() bool { _, err := os.Stat(path); return err == nil })
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		m.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		m.Fatal(err)
	}
}

func TestII(t *testing.T) {
	m := meet(t)
	dir := t.TempDir()
	daemon(t, exec.Command(need.Program(t, "ii"), "-s", m.host, "-p", m.port, "-n", "iiuser", "-i", dir))
	server := filepath.Join(dir, m.host)
	m.writeFIFO(filepath.Join(server, "in"), "/j "+room+"\n")
	m.joined("iiuser")
	m.writeFIFO(filepath.Join(server, room, "in"), "hello from ii\n")
	if from := m.hear("hello from ii"); from != "iiuser" {
		t.Errorf("from %q", from)
	}
	m.say("hello ii")
	m.fileHas(filepath.Join(server, room, "out"), "<alice> hello ii")
	if _, err := m.alice.Send(m.within(), "iiuser", "one"); err != nil {
		t.Fatal(err)
	}
	m.fileHas(filepath.Join(server, "alice", "out"), "<alice> one")
}

// A screen collects what a program prints to its terminal.
type screen struct {
	mu   sync.Mutex // guards the field below
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

func TestIrssi(t *testing.T) {
	m := meet(t)
	cmd := exec.Command(need.Program(t, "irssi"), "--home="+t.TempDir(), "-c", m.host, "-p", m.port, "-n", "irssiuser")
	cmd.Env = append(os.Environ(), "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	var shown screen
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buf := make([]byte, 4096)
		for {
			n, err := terminal.Read(buf)
			shown.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // Best effort: it was killed.
		terminal.Close()
		<-copied
	})
	typed := func(line string) {
		t.Helper()
		if _, err := terminal.WriteString(line + "\r"); err != nil {
			t.Fatal(err)
		}
	}
	m.eventually("the greeting on irssi's screen", func() bool { return shown.has("hello") })
	typed("/join " + room)
	m.joined("irssiuser")
	typed("hello from irssi")
	if from := m.hear("hello from irssi"); from != "irssiuser" {
		t.Errorf("from %q", from)
	}
	m.say("hello irssi-user")
	m.eventually("the message on irssi's screen", func() bool { return shown.has("hello irssi-user") })
	typed("/quit")
	for {
		if e, err := m.alice.Next(m.within()); err != nil {
			t.Fatal(err)
		} else if e.Kind == irc.EventQuit && e.From.Nick == "irssiuser" {
			break
		}
	}
}

func TestWeechat(t *testing.T) {
	m := meet(t)
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	cmd := exec.Command(need.Program(t, "weechat-headless"), "-d", dir, "--stdout",
		"-r", "/set logger.file.flush_delay 0", "-r", "/set logger.file.path "+filepath.Join(dir, "logs"),
		"-r", "/set fifo.file.path "+fifo,
		"-r", "/server add t "+m.host+"/"+m.port+" -notls",
		"-r", "/set irc.server.t.nicks weeuser", "-r", "/set irc.server.t.autojoin "+room,
		"-r", "/set irc.server.t.sasl_username guest", "-r", "/set irc.server.t.sasl_password secret",
		"-r", "/connect t")
	daemon(t, cmd)
	m.joined("weeuser")
	if who, err := m.alice.Whois(m.within(), "weeuser"); err != nil || who.Account != "guest" {
		t.Errorf("%+v, %v", who, err)
	}
	log := filepath.Join(dir, "logs", "irc.t."+room+".weechatlog")
	m.fileHas(log, "weeuser") // its buffer is open
	m.writeFIFO(fifo, "irc.t."+room+" *hello from weechat\n")
	if from := m.hear("hello from weechat"); from != "weeuser" {
		t.Errorf("from %q", from)
	}
	m.say("hello weechat")
	m.fileHas(log, "hello weechat")
}

func TestIRCFramework(t *testing.T) {
	m := meet(t)
	root := os.Getenv("DEN_IRC_FRAMEWORK")
	if root == "" {
		need.Missing(t, "DEN_IRC_FRAMEWORK does not name irc-framework's directory")
	}
	cmd := exec.Command(need.Program(t, "node"), "testdata/framework.js", root, m.host, m.port, "guest", room, "secret")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait() // Best effort: it may have been killed.
	}()
	type event struct {
		Event, Nick, Account, From, Target, Text, ID string
		Caps, Texts                                  []string
	}
	events := json.NewDecoder(out)
	expect := func(kind string, ok func(event) bool) {
		t.Helper()
		for {
			var e event
			if err := events.Decode(&e); err != nil {
				t.Fatalf("waiting for %s: %v", kind, err)
			}
			if e.Event == kind {
				if !ok(e) {
					t.Errorf("%+v", e)
				}
				return
			}
		}
	}
	expect("loggedin", func(e event) bool { return e.Account == "guest" })
	expect("registered", func(e event) bool { return e.Nick == "guest" && slices.Contains(e.Caps, "draft/chathistory") })
	expect("message", func(e event) bool { return e.Text == "hello from irc-framework" && e.ID != "" }) // its echo
	expect("history", func(e event) bool {
		return e.Target == room && slices.Equal(e.Texts, []string{"said before", "hello from irc-framework"})
	})
	m.hear("hello from irc-framework")
	m.say("leave")
	expect("message", func(e event) bool { return e.Text == "leave" && e.From == "alice" && e.Target == room && e.ID != "" })
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
