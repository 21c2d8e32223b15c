package ircd

import (
	"slices"
	"strings"

	"den/internal/chat/irc"
)

// handleWho answers WHO mask [%fields[,token]].
func handleWho(s *Server, c *client, m irc.Message) {
	mask := m.Param(0)
	if mask == "" || mask == "0" {
		mask = "*"
	}
	fields, token, _ := strings.Cut(m.Param(1), ",")
	fields, extended := strings.CutPrefix(fields, "%")
	peers, ch := s.whoLocked(mask)
	for _, peer := range peers {
		w := who{peer: peer, ch: ch, token: token, multi: c.caps.has(capMultiPrefix)}
		if extended {
			c.numericLocked(irc.RPL_WHOSPCRPL, w.fields(s, fields)...)
			continue
		}
		c.numericLocked(irc.RPL_WHOREPLY, w.channel(), peer.user, peer.host, s.cfg.Name, peer.nick, w.flags(), "0 "+peer.realName)
	}
	c.numericLocked(irc.RPL_ENDOFWHO, printable(mask), "End of /WHO list")
}

// whoLocked returns the clients that a mask names, and the channel if it names
// one.
func (s *Server) whoLocked(mask string) ([]*client, *channel) {
	if strings.HasPrefix(mask, "#") {
		ch := s.channelLocked(mask)
		if ch == nil {
			return nil, nil
		}
		return ch.sortedMembers(), ch
	}
	var peers []*client
	for _, c := range s.nicks {
		if matches(mask, c.nick) || matches(mask, c.source()) {
			peers = append(peers, c)
		}
	}
	slices.SortFunc(peers, func(a, b *client) int { return strings.Compare(a.nick, b.nick) })
	return peers, nil
}

// who is one row of an answer.
type who struct {
	peer  *client
	ch    *channel // or nil
	token string
	multi bool
}

func (w who) channel() string {
	if w.ch == nil {
		return "*"
	}
	return w.ch.name
}

func (w who) flags() string {
	flags := "H"
	if w.peer.away != "" {
		flags = "G"
	}
	if w.peer.bot {
		flags += "B"
	}
	if w.ch != nil {
		flags += w.ch.members[w.peer].prefix(w.multi)
	}
	return flags
}

// fields returns what WHOX asks for, in its fixed order.
func (w who) fields(s *Server, asked string) []string {
	values := []struct {
		letter, value string
	}{
		{"t", orZero(w.token)}, {"c", w.channel()}, {"u", w.peer.user}, {"i", "255.255.255.255"}, {"h", w.peer.host},
		{"s", s.cfg.Name}, {"n", w.peer.nick}, {"f", w.flags()}, {"d", "0"}, {"l", "0"}, {"a", orZero(w.peer.account)},
		{"o", "n/a"}, {"r", w.peer.realName},
	}
	var row []string
	for _, v := range values {
		if strings.Contains(asked, v.letter) {
			row = append(row, v.value)
		}
	}
	return row
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}
