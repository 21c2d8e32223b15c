package ircd

import (
	"slices"
	"strings"
	"time"
)

// A channel exists while it has members, or is kept. Its fields are guarded by
// Server.mu.
type channel struct {
	name    string // as it was created
	created time.Time
	members map[*client]*role
	former  map[string]role // who lost the connection and may come back, by identity; only if it is kept
	topic   string
	topicBy string
	topicAt time.Time

	inviteOnly, moderated, noExternal, topicLocked bool
	key                                            string // or empty: none
	limit                                          int    // or 0: none
	bans                                           []ban  // at most Limits.ListEntries
}

// A role is what a member of a channel may do.
type role struct {
	Operator bool `json:"operator,omitempty"`
	Voice    bool `json:"voice,omitempty"`
}

type ban struct {
	mask, by string
	at       time.Time
}

// prefix is the member's sign, or all of its signs.
func (m *role) prefix(all bool) string {
	switch {
	case m.Operator && m.Voice && all:
		return "@+"
	case m.Operator:
		return "@"
	case m.Voice:
		return "+"
	}
	return ""
}

func (ch *channel) banned(c *client) bool {
	return slices.ContainsFunc(ch.bans, func(b ban) bool { return matches(b.mask, c.source()) })
}

// broadcastLocked sends a message to all members but one, which may be nil.
func (ch *channel) broadcastLocked(d *delivery, except *client) {
	for c := range ch.members {
		if c != except {
			c.sendLocked(d)
		}
	}
}

// sortedMembers are the members by nick, so that answers are the same each time.
func (ch *channel) sortedMembers() []*client {
	members := make([]*client, 0, len(ch.members))
	for c := range ch.members {
		members = append(members, c)
	}
	slices.SortFunc(members, func(a, b *client) int { return strings.Compare(a.nick, b.nick) })
	return members
}

// modes returns the modes as MODE shows them. Only members see the key.
func (ch *channel) modes(member bool) []string {
	letters := "+"
	var params []string
	for _, flag := range []struct {
		set    bool
		letter string
	}{{ch.inviteOnly, "i"}, {ch.moderated, "m"}, {ch.noExternal, "n"}, {ch.topicLocked, "t"}} {
		if flag.set {
			letters += flag.letter
		}
	}
	if ch.key != "" {
		letters += "k"
		if member {
			params = append(params, ch.key)
		} else {
			params = append(params, "*")
		}
	}
	if ch.limit > 0 {
		letters += "l"
		params = append(params, itoa(ch.limit))
	}
	return append([]string{letters}, params...)
}

// channelLocked returns a channel, or nil.
func (s *Server) channelLocked(name string) *channel { return s.channels[fold(name)] }

// maxFormer bounds how many members may come back to a channel. More are
// forgotten.
const maxFormer = 1024

// leaveLocked takes a client out of a channel that it left on purpose, and
// removes an empty channel.
func (s *Server) leaveLocked(c *client, ch *channel) {
	delete(ch.members, c)
	delete(c.channels, fold(ch.name))
	s.membersChanged = true
	if len(ch.members) == 0 && !ch.kept() {
		delete(s.channels, fold(ch.name))
	}
}

// loseLocked is leaveLocked for a client that lost its connection: it may come
// back to a channel that is kept.
func (s *Server) loseLocked(c *client, ch *channel) {
	if r := ch.members[c]; ch.kept() && len(ch.former) < maxFormer && !passes(c.identity()) {
		ch.former[c.identity()] = *r
	}
	s.leaveLocked(c, ch)
}
