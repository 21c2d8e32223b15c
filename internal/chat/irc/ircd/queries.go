package ircd

import (
	"slices"
	"strconv"
	"strings"

	"den/internal/chat/irc"
)

func handleMotd(s *Server, c *client, _ irc.Message) {
	if len(s.cfg.MOTD) == 0 {
		c.numericLocked(irc.ERR_NOMOTD, "No message of the day")
		return
	}
	c.numericLocked(irc.RPL_MOTDSTART, "- "+s.cfg.Name+" message of the day -")
	for _, line := range s.cfg.MOTD {
		c.numericLocked(irc.RPL_MOTD, "- "+cut(line, topicLen))
	}
	c.numericLocked(irc.RPL_ENDOFMOTD, "End of message of the day")
}

func handleLusers(s *Server, c *client, _ irc.Message) {
	users, waiting := len(s.nicks), len(s.conns)-len(s.nicks)
	c.numericLocked(irc.RPL_LUSERCLIENT, "There are "+itoa(users)+" users and 0 invisible on 1 servers")
	if waiting > 0 {
		c.numericLocked(irc.RPL_LUSERUNKNOWN, itoa(waiting), "unknown connections")
	}
	c.numericLocked(irc.RPL_LUSERCHANNELS, itoa(len(s.channels)), "channels formed")
	c.numericLocked(irc.RPL_LUSERME, "I have "+itoa(users)+" clients and 0 servers")
	c.numericLocked(irc.RPL_LOCALUSERS, itoa(users), itoa(s.cfg.Limits.Clients), "Current local users "+itoa(users)+", max "+itoa(s.cfg.Limits.Clients))
	c.numericLocked(irc.RPL_GLOBALUSERS, itoa(users), itoa(s.cfg.Limits.Clients), "Current global users "+itoa(users)+", max "+itoa(s.cfg.Limits.Clients))
}

func handleVersion(s *Server, c *client, _ irc.Message) {
	c.numericLocked(irc.RPL_VERSION, serverVersion, s.cfg.Name, "den")
	s.supportLocked(c)
}

func handleTime(s *Server, c *client, _ irc.Message) {
	c.numericLocked(irc.RPL_TIME, s.cfg.Name, s.cfg.Now().UTC().Format(timeLayout))
}

func handleAway(s *Server, c *client, m irc.Message) {
	c.away = cut(m.Param(0), awayLen)
	params := []string{}
	if c.away == "" {
		c.numericLocked(irc.RPL_UNAWAY, "You are no longer marked as being away")
	} else {
		c.numericLocked(irc.RPL_NOWAWAY, "You have been marked as being away")
		params = append(params, c.away)
	}
	notice := s.eventLocked(c, "AWAY", params...)
	for peer := range c.peersLocked() {
		if peer.caps.has(capAwayNotify) {
			peer.sendLocked(notice)
		}
	}
}

func handleSetName(s *Server, c *client, m irc.Message) {
	c.realName = cut(m.Param(0), realNameLen)
	notice := s.eventLocked(c, "SETNAME", c.realName)
	if c.caps.has(capSetName) {
		c.sendLocked(notice)
	}
	for peer := range c.peersLocked() {
		if peer.caps.has(capSetName) {
			peer.sendLocked(notice)
		}
	}
}

// maxAsked bounds the names in one USERHOST or ISON.
const maxAsked = 15

func asked(params []string) []string {
	var names []string
	for _, p := range params {
		names = append(names, strings.Fields(p)...)
	}
	return names[:min(len(names), maxAsked)]
}

func handleUserhost(s *Server, c *client, m irc.Message) {
	var found []string
	for _, nick := range asked(m.Params) {
		if peer := s.nicks[fold(nick)]; peer != nil {
			state := "+"
			if peer.away != "" {
				state = "-"
			}
			found = append(found, peer.nick+"="+state+peer.user+"@"+peer.host)
		}
	}
	c.numericLocked(irc.RPL_USERHOST, strings.Join(found, " "))
}

func handleIson(s *Server, c *client, m irc.Message) {
	var found []string
	for _, nick := range asked(m.Params) {
		if peer := s.nicks[fold(nick)]; peer != nil {
			found = append(found, peer.nick)
		}
	}
	c.numericLocked(irc.RPL_ISON, strings.Join(found, " "))
}

func handleNames(s *Server, c *client, m irc.Message) {
	if m.Param(0) == "" {
		c.numericLocked(irc.RPL_ENDOFNAMES, "*", "End of /NAMES list")
		return
	}
	for _, name := range strings.Split(m.Param(0), ",") {
		if ch := s.channelLocked(name); ch != nil {
			c.sendNamesLocked(ch)
			continue
		}
		c.numericLocked(irc.RPL_ENDOFNAMES, printable(name), "End of /NAMES list")
	}
}

func handleList(s *Server, c *client, m irc.Message) {
	var masks []string
	if m.Param(0) != "" {
		masks = strings.Split(m.Param(0), ",")
	}
	names := make([]string, 0, len(s.channels))
	for name := range s.channels {
		names = append(names, name)
	}
	slices.Sort(names)
	c.numericLocked(irc.RPL_LISTSTART, "Channel", "Users  Name")
	for _, name := range names {
		ch := s.channels[name]
		if masks == nil || slices.ContainsFunc(masks, func(mask string) bool { return matches(mask, ch.name) }) {
			c.numericLocked(irc.RPL_LIST, ch.name, itoa(len(ch.members)), ch.topic)
		}
	}
	c.numericLocked(irc.RPL_LISTEND, "End of /LIST")
}

func handleWhois(s *Server, c *client, m irc.Message) {
	nick := m.Last()
	peer := s.nicks[fold(nick)]
	if peer == nil {
		c.numericLocked(irc.ERR_NOSUCHNICK, printable(nick), "No such nick")
		c.numericLocked(irc.RPL_ENDOFWHOIS, printable(nick), "End of /WHOIS list")
		return
	}
	c.numericLocked(irc.RPL_WHOISUSER, peer.nick, peer.user, peer.host, "*", peer.realName)
	if len(peer.channels) > 0 {
		var names []string
		for _, ch := range peer.channels {
			names = append(names, ch.members[peer].prefix(c.caps.has(capMultiPrefix))+ch.name)
		}
		slices.Sort(names)
		c.numericLocked(irc.RPL_WHOISCHANNELS, peer.nick, strings.Join(names, " "))
	}
	c.numericLocked(irc.RPL_WHOISSERVER, peer.nick, s.cfg.Name, s.cfg.Network)
	if peer.away != "" {
		c.numericLocked(irc.RPL_AWAY, peer.nick, peer.away)
	}
	if peer.account != "" {
		c.numericLocked(irc.RPL_WHOISACCOUNT, peer.nick, peer.account, "is logged in as")
	}
	if peer.bot {
		c.numericLocked(irc.RPL_WHOISBOT, peer.nick, "is a bot")
	}
	idle := int64(s.cfg.Now().Sub(peer.lastActive).Seconds())
	c.numericLocked(irc.RPL_WHOISIDLE, peer.nick, strconv.FormatInt(idle, 10), strconv.FormatInt(peer.signedOn.Unix(), 10), "seconds idle, signon time")
	c.numericLocked(irc.RPL_ENDOFWHOIS, peer.nick, "End of /WHOIS list")
}
