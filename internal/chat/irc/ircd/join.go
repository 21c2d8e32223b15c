package ircd

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"den/internal/chat/irc"
)

func itoa(n int) string { return strconv.Itoa(n) }

func handleJoin(s *Server, c *client, m irc.Message) {
	if m.Param(0) == "0" {
		for _, ch := range c.channels {
			s.partLocked(c, ch, "")
		}
		return
	}
	keys := strings.Split(m.Param(1), ",")
	for i, name := range strings.Split(m.Param(0), ",") {
		key := ""
		if i < len(keys) {
			key = keys[i]
		}
		s.joinLocked(c, name, key)
	}
}

func (s *Server) joinLocked(c *client, name, key string) {
	if !validChannel(name) {
		c.numericLocked(irc.ERR_NOSUCHCHANNEL, printable(name), "No such channel")
		return
	}
	ch := s.channelLocked(name)
	if ch != nil && ch.members[c] != nil {
		return
	}
	if code, text := s.refuseJoinLocked(c, ch, name, key); code != "" {
		c.numericLocked(code, name, text)
		return
	}
	if ch == nil {
		ch = &channel{name: name, created: s.cfg.Now(), members: map[*client]*role{}, former: map[string]role{}, noExternal: true, topicLocked: !s.cfg.OpenTopics}
		s.channels[fold(name)] = ch
	}
	delete(c.invitations, fold(name))
	ch.members[c] = ch.roleOf(c)
	delete(ch.former, c.identity())
	c.channels[fold(name)] = ch
	s.membersChanged = true
	s.announceJoinLocked(c, ch)
	if ch.topic != "" {
		c.sendTopicLocked(ch)
	}
	c.sendNamesLocked(ch)
}

// roleOf is the role of a client that joins: the one that it had, or the
// operator's if nobody else has that or may come back to it.
func (ch *channel) roleOf(c *client) *role {
	r := ch.former[c.identity()]
	if len(ch.members) == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(ch.former)), func(r role) bool { return r.Operator }) {
		r.Operator = true
	}
	return &r
}

// refuseJoinLocked returns why a client may not join, or "".
func (s *Server) refuseJoinLocked(c *client, ch *channel, name, key string) (code, text string) {
	switch {
	case len(c.channels) >= s.cfg.Limits.ChannelsPerClient:
		return irc.ERR_TOOMANYCHANNELS, "You have joined too many channels"
	case ch == nil && len(s.channels) >= s.cfg.Limits.Channels:
		return irc.ERR_UNAVAILRESOURCE, "The server has too many channels"
	case ch == nil || c.invitations[fold(name)]:
		return "", ""
	case ch.inviteOnly && !ch.mayReturn(c):
		return irc.ERR_INVITEONLYCHAN, "Cannot join channel (+i)"
	case ch.key != "" && ch.key != key:
		return irc.ERR_BADCHANNELKEY, "Cannot join channel (+k)"
	case ch.banned(c):
		return irc.ERR_BANNEDFROMCHAN, "Cannot join channel (+b)"
	case ch.limit > 0 && len(ch.members) >= ch.limit:
		return irc.ERR_CHANNELISFULL, "Cannot join channel (+l)"
	}
	return "", ""
}

// mayReturn reports whether a client was on the channel when it lost its
// connection.
func (ch *channel) mayReturn(c *client) bool {
	_, ok := ch.former[c.identity()]
	return ok
}

func (s *Server) announceJoinLocked(c *client, ch *channel) {
	plain := s.eventLocked(c, "JOIN", ch.name)
	extended := s.eventLocked(c, "JOIN", ch.name, orStar(c.account), c.realName)
	away := s.eventLocked(c, "AWAY", c.away)
	for peer := range ch.members {
		if peer.caps.has(capExtendedJoin) {
			peer.sendLocked(extended)
		} else {
			peer.sendLocked(plain)
		}
		if c.away != "" && peer != c && peer.caps.has(capAwayNotify) {
			peer.sendLocked(away)
		}
	}
}

func (c *client) sendTopicLocked(ch *channel) {
	if ch.topic == "" {
		c.numericLocked(irc.RPL_NOTOPIC, ch.name, "No topic is set")
		return
	}
	c.numericLocked(irc.RPL_TOPIC, ch.name, ch.topic)
	c.numericLocked(irc.RPL_TOPICWHOTIME, ch.name, ch.topicBy, strconv.FormatInt(ch.topicAt.Unix(), 10))
}

// sendNamesLocked lists a channel's members in as many lines as they need.
func (c *client) sendNamesLocked(ch *channel) {
	room := irc.Room(c.server.cfg.Name, irc.RPL_NAMREPLY+" "+c.displayNick()+" =", ch.name)
	line := make([]byte, 0, irc.MaxBody)
	for _, peer := range ch.sortedMembers() {
		name := ch.members[peer].prefix(c.caps.has(capMultiPrefix))
		if c.caps.has(capUserhostInNames) {
			name += peer.source()
		} else {
			name += peer.nick
		}
		if len(line) > 0 && len(line)+1+len(name) > room {
			c.numericLocked(irc.RPL_NAMREPLY, "=", ch.name, string(line))
			line = line[:0]
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, name...)
	}
	if len(line) > 0 {
		c.numericLocked(irc.RPL_NAMREPLY, "=", ch.name, string(line))
	}
	c.numericLocked(irc.RPL_ENDOFNAMES, ch.name, "End of /NAMES list")
}

func handlePart(s *Server, c *client, m irc.Message) {
	for _, name := range strings.Split(m.Param(0), ",") {
		if ch := s.memberOfLocked(c, name); ch != nil {
			s.partLocked(c, ch, cut(m.Param(1), awayLen))
		}
	}
}

func (s *Server) partLocked(c *client, ch *channel, reason string) {
	params := []string{ch.name}
	if reason != "" {
		params = append(params, reason)
	}
	ch.broadcastLocked(s.eventLocked(c, "PART", params...), nil)
	s.leaveLocked(c, ch)
}

// memberOfLocked returns a channel that the client is on, or answers with an
// error and returns nil.
func (s *Server) memberOfLocked(c *client, name string) *channel {
	ch := s.channelLocked(name)
	switch {
	case ch == nil:
		c.numericLocked(irc.ERR_NOSUCHCHANNEL, printable(name), "No such channel")
	case ch.members[c] == nil:
		c.numericLocked(irc.ERR_NOTONCHANNEL, ch.name, "You're not on that channel")
	default:
		return ch
	}
	return nil
}

// operatorOfLocked is memberOfLocked for what only operators may do.
func (s *Server) operatorOfLocked(c *client, name string) *channel {
	ch := s.memberOfLocked(c, name)
	if ch != nil && !ch.members[c].Operator {
		c.numericLocked(irc.ERR_CHANOPRIVSNEEDED, ch.name, "You're not a channel operator")
		return nil
	}
	return ch
}

func handleKick(s *Server, c *client, m irc.Message) {
	ch := s.operatorOfLocked(c, m.Param(0))
	if ch == nil {
		return
	}
	reason := cut(m.Param(2), awayLen)
	if reason == "" {
		reason = c.nick
	}
	for _, nick := range strings.Split(m.Param(1), ",") {
		victim := s.nicks[fold(nick)]
		if victim == nil || ch.members[victim] == nil {
			c.numericLocked(irc.ERR_USERNOTINCHANNEL, printable(nick), ch.name, "They aren't on that channel")
			continue
		}
		ch.broadcastLocked(s.eventLocked(c, "KICK", ch.name, victim.nick, reason), nil)
		s.leaveLocked(victim, ch)
	}
}

func handleInvite(s *Server, c *client, m irc.Message) {
	peer := s.nicks[fold(m.Param(0))]
	if peer == nil {
		c.numericLocked(irc.ERR_NOSUCHNICK, printable(m.Param(0)), "No such nick")
		return
	}
	ch := s.memberOfLocked(c, m.Param(1))
	switch {
	case ch == nil:
		return
	case ch.members[peer] != nil:
		c.numericLocked(irc.ERR_USERONCHANNEL, peer.nick, ch.name, "is already on channel")
		return
	case ch.inviteOnly && !ch.members[c].Operator:
		c.numericLocked(irc.ERR_CHANOPRIVSNEEDED, ch.name, "You're not a channel operator")
		return
	case len(peer.invitations) >= s.cfg.Limits.ListEntries:
		c.numericLocked(irc.ERR_UNAVAILRESOURCE, peer.nick, "Too many invitations")
		return
	}
	peer.invitations[fold(ch.name)] = true
	c.numericLocked(irc.RPL_INVITING, peer.nick, ch.name)
	invite := s.eventLocked(c, "INVITE", peer.nick, ch.name)
	peer.sendLocked(invite)
	for member, role := range ch.members {
		if role.Operator && member != c && member.caps.has(capInviteNotify) {
			member.sendLocked(invite)
		}
	}
	if peer.away != "" {
		c.numericLocked(irc.RPL_AWAY, peer.nick, peer.away)
	}
}

func handleTopic(s *Server, c *client, m irc.Message) {
	if ch := s.channelLocked(m.Param(0)); ch != nil && len(m.Params) == 1 && c.invitations[fold(ch.name)] {
		c.sendTopicLocked(ch) // who is invited decides by it
		return
	}
	ch := s.memberOfLocked(c, m.Param(0))
	switch {
	case ch == nil:
	case len(m.Params) == 1:
		c.sendTopicLocked(ch)
	case ch.topicLocked && !ch.members[c].Operator:
		c.numericLocked(irc.ERR_CHANOPRIVSNEEDED, ch.name, "You're not a channel operator")
	default:
		ch.topic, ch.topicBy, ch.topicAt = cut(m.Param(1), topicLen), c.source(), s.cfg.Now()
		s.saveChannelsLocked()
		ch.broadcastLocked(s.eventLocked(c, "TOPIC", ch.name, ch.topic), nil)
	}
}
