package ircd

import (
	"crypto/rand"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"den/internal/chat/irc"
)

// A client is one connection. Its fields below the line are guarded by
// Server.mu.
type client struct {
	server        *Server
	conn          net.Conn
	out           *outbox
	host          string
	loginRequired bool
	lines         irc.Bucket // used by the reading goroutine alone
	burst         burst      // likewise
	// ----
	nick, user, realName string
	account              string // or empty: not logged in
	agent                string // the folded nick of the resident that it is, or empty
	person               bool   // of this machine, by the word of Server.mayReserved
	asked                bool   // whether it is one
	id                   string // unlike that of any other connection, also of the past
	caps                 capSet
	capVersion           int  // of CAP LS: 302, or 0
	negotiating          bool // between CAP LS or REQ and CAP END
	registered           bool
	password             string // what PASS said
	away                 string // or empty: here
	bot, invisible       bool   // user modes B and i
	channels             map[string]*channel
	invitations          map[string]bool // folded names of channels; bounded by Limits.ListEntries
	login                login
	signedOn, lastActive time.Time
	response             *response // while a command with a label is handled, or nil
}

// lineLimit bounds a line with its tags. The limits of each are checked when
// it is parsed.
const lineLimit = irc.MaxClientTags + irc.MaxBody

func newClient(s *Server, conn net.Conn, host string, loginRequired bool) *client {
	now := s.cfg.Now()
	return &client{
		server: s, conn: conn, host: host, loginRequired: loginRequired,
		out:      newOutbox(conn, s.cfg.Limits),
		lines:    irc.NewBucket(s.cfg.Limits.LineRate, s.cfg.Limits.LineBurst),
		channels: map[string]*channel{}, invitations: map[string]bool{},
		id: rand.Text(), signedOn: now, lastActive: now,
	}
}

// run serves the connection until it ends. The server forgets the client before
// the connection is closed: who sees the one finds the other done.
func (c *client) run() {
	c.out.close(c.read()) // the first reason counts
	c.server.disconnect(c, c.out.why())
	c.out.end()
}

// read handles lines until the connection ends, and returns why.
func (c *client) read() (reason string) {
	defer c.burst.release()
	limits := c.server.cfg.Limits
	reader := irc.NewLineReader(c.conn, lineLimit)
	registerBy := time.Now().Add(limits.Register)
	pinged, registered := false, false
	for {
		if !reader.Buffered() { // it may wait
			c.burst.release()
			wait := limits.PingInterval
			if pinged {
				wait = limits.PingTimeout
			}
			deadline := time.Now().Add(wait)
			if registered = registered || c.server.isRegistered(c); !registered && registerBy.Before(deadline) {
				deadline = registerBy
			}
			c.out.readUntil(deadline)
		}
		line, err := reader.Next()
		switch {
		case err == nil:
			pinged = false
			if !c.pace() {
				return "Disconnected"
			}
			c.server.handleLine(c, string(line))
		case errors.Is(err, irc.ErrLineTooLong):
			c.server.tooLong(c)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return "Connection closed"
		case !registered:
			return "Registration timed out"
		case pinged:
			return "Ping timeout"
		default:
			pinged = true
			c.out.push([]byte("PING :" + c.server.cfg.Name + "\r\n"))
		}
		if c.out.why() != "" {
			return "Disconnected"
		}
	}
}

func (s *Server) isRegistered(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.registered
}

// source is who others see.
func (c *client) source() string {
	return irc.Source{Nick: c.nick, User: c.user, Host: c.host}.String()
}

// displayNick is how the server addresses a client that may have no nick yet.
func (c *client) displayNick() string {
	if c.nick == "" {
		return "*"
	}
	return c.nick
}

// identity is whose direct messages a client reads, and whose roles in channels
// it gets back: those of its account or of the agent that it is, else of a
// person of this machine by that nick, else of this connection alone. A nick by
// itself is nobody: the next one may be another's. No nick has an @ or a ~ in it,
// and no agent the name of an account, so no two kinds share an identity.
func (c *client) identity() string {
	switch {
	case c.account != "":
		return fold(c.account)
	case c.agent != "":
		return c.agent
	case c.person:
		return fold(c.nick) + "@local"
	}
	return fold(c.nick) + "~" + c.id
}

// passes reports whether nobody can come back to an identity.
func passes(identity string) bool { return strings.Contains(identity, "~") }

// nameOf is what an identity is called: its account, its agent or its nick.
func nameOf(identity string) string {
	if end := strings.IndexAny(identity, "@~"); end >= 0 {
		return identity[:end]
	}
	return identity
}

// disconnect removes a client and tells those who share a channel with it.
func (s *Server) disconnect(c *client, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.addresses[c.host]--; s.addresses[c.host] <= 0 {
		delete(s.addresses, c.host)
	}
	if s.nicks[fold(c.nick)] == c {
		delete(s.nicks, fold(c.nick))
	}
	if c.registered && !s.stopping {
		quit := s.eventLocked(c, "QUIT", reason)
		for peer := range c.peersLocked() {
			peer.sendLocked(quit)
		}
	}
	for _, ch := range c.channels {
		s.loseLocked(c, ch)
	}
	c.registered = false
}

// peersLocked are the other clients that share a channel with this one.
func (c *client) peersLocked() map[*client]bool {
	peers := map[*client]bool{}
	for _, ch := range c.channels {
		for peer := range ch.members {
			if peer != c {
				peers[peer] = true
			}
		}
	}
	return peers
}

// pace waits until a line of the client may be handled. A client that sends
// too many is read later, so that its own send buffer fills; nothing is lost.
// It returns false if the connection was closed meanwhile.
func (c *client) pace() bool {
	pause := c.lines.Take(time.Now())
	if pause <= 0 {
		return true
	}
	c.burst.release()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.out.gone:
		return false
	}
}
