package ircd

import (
	"slices"
	"strings"
	"time"
)

// A channel exists while it has members. Its fields are guarded by Server.mu.
type channel struct {
	name    string // as it was created
	created time.Time
	members map[*client]*member
	topic   string
	topicBy string
	topicAt time.Time

	inviteOnly, moderated, noExternal, topicLocked bool
	key                                            string // or empty: none
	limit                                          int    // or 0: none
	bans                                           []ban  // at most Limits.ListEntries
}

type member struct{ operator, voice bool }

type ban struct {
	mask, by string
	at       time.Time
}

// prefix is the member's sign, or all of its signs.
func (m *member) prefix(all bool) string {
	switch {
	case m.operator && m.voice && all:
		return "@+"
	case m.operator:
		return "@"
	case m.voice:
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

// leaveLocked takes a client out of a channel, and removes an empty channel.
func (s *Server) leaveLocked(c *client, ch *channel) {
	delete(ch.members, c)
	delete(c.channels, fold(ch.name))
	if len(ch.members) == 0 {
		delete(s.channels, fold(ch.name))
	}
}
