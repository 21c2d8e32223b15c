package ircd

import (
	"slices"
	"strconv"
	"strings"

	"den/internal/chat/irc"
)

func handleMode(s *Server, c *client, m irc.Message) {
	if strings.HasPrefix(m.Param(0), "#") {
		s.channelModeLocked(c, m)
		return
	}
	s.userModeLocked(c, m)
}

func (s *Server) userModeLocked(c *client, m irc.Message) {
	if s.nicks[fold(m.Param(0))] == nil {
		c.numericLocked(irc.ERR_NOSUCHNICK, printable(m.Param(0)), "No such nick")
		return
	}
	if fold(m.Param(0)) != fold(c.nick) {
		c.numericLocked(irc.ERR_USERSDONTMATCH, "Cannot change the modes of others")
		return
	}
	if len(m.Params) == 1 {
		c.numericLocked(irc.RPL_UMODEIS, c.userModes())
		return
	}
	on, changed := true, ""
	for _, letter := range m.Param(1) {
		switch letter {
		case '+', '-':
			on = letter == '+'
			continue
		case 'B':
			c.bot = on
		case 'i':
			c.invisible = on
		default:
			c.numericLocked(irc.ERR_UMODEUNKNOWNFLAG, "Unknown mode flag")
			continue
		}
		changed += sign(on) + string(letter)
	}
	if changed != "" {
		c.sendLocked(s.eventLocked(c, "MODE", c.nick, changed))
	}
}

func sign(on bool) string {
	if on {
		return "+"
	}
	return "-"
}

func (c *client) userModes() string {
	modes := "+"
	if c.bot {
		modes += "B"
	}
	if c.invisible {
		modes += "i"
	}
	return modes
}

func (s *Server) channelModeLocked(c *client, m irc.Message) {
	ch := s.channelLocked(m.Param(0))
	if ch == nil {
		c.numericLocked(irc.ERR_NOSUCHCHANNEL, printable(m.Param(0)), "No such channel")
		return
	}
	if len(m.Params) == 1 {
		c.numericLocked(irc.RPL_CHANNELMODEIS, append([]string{ch.name}, ch.modes(ch.members[c] != nil)...)...)
		c.numericLocked(irc.RPL_CREATIONTIME, ch.name, strconv.FormatInt(ch.created.Unix(), 10))
		return
	}
	if list := strings.TrimPrefix(m.Param(1), "+"); list == "b" && len(m.Params) == 2 {
		c.sendBansLocked(ch)
		return
	}
	if ch = s.operatorOfLocked(c, m.Param(0)); ch == nil {
		return
	}
	change := &modeChange{server: s, by: c, ch: ch, params: m.Params[2:]}
	change.applyLocked(m.Param(1))
	if change.letters != "" {
		s.saveChannelsLocked()
		ch.broadcastLocked(s.eventLocked(c, "MODE", append([]string{ch.name, change.letters}, change.done...)...), nil)
	}
}

func (c *client) sendBansLocked(ch *channel) {
	for _, b := range ch.bans {
		c.numericLocked(irc.RPL_BANLIST, ch.name, b.mask, b.by, strconv.FormatInt(b.at.Unix(), 10))
	}
	c.numericLocked(irc.RPL_ENDOFBANLIST, ch.name, "End of channel ban list")
}

// A modeChange is one MODE of an operator.
type modeChange struct {
	server  *Server
	by      *client
	ch      *channel
	params  []string // not yet used
	on      bool
	letters string // of the changes that were made, with their signs
	done    []string
}

func (mc *modeChange) applyLocked(letters string) {
	mc.on = true
	for _, letter := range letters {
		switch letter {
		case '+', '-':
			mc.on = letter == '+'
		case 'i':
			mc.flag(&mc.ch.inviteOnly, letter)
		case 'm':
			mc.flag(&mc.ch.moderated, letter)
		case 'n':
			mc.flag(&mc.ch.noExternal, letter)
		case 't':
			mc.flag(&mc.ch.topicLocked, letter)
		case 'k':
			mc.keyLocked()
		case 'l':
			mc.limit()
		case 'o', 'v':
			mc.roleLocked(letter)
		case 'b':
			mc.banLocked()
		default:
			mc.by.numericLocked(irc.ERR_UNKNOWNMODE, string(letter), "is unknown mode char to me")
		}
	}
}

// next takes a parameter. At most maxModes are used.
func (mc *modeChange) next() (string, bool) {
	if len(mc.params) == 0 || len(mc.done) >= maxModes {
		return "", false
	}
	param := mc.params[0]
	mc.params = mc.params[1:]
	return param, param != ""
}

func (mc *modeChange) note(letter rune, param ...string) {
	mc.letters += sign(mc.on) + string(letter)
	mc.done = append(mc.done, param...)
}

func (mc *modeChange) flag(flag *bool, letter rune) {
	if *flag != mc.on {
		*flag = mc.on
		mc.note(letter)
	}
}

func (mc *modeChange) keyLocked() {
	key, ok := mc.next()
	switch {
	case !mc.on && mc.ch.key != "":
		mc.ch.key = ""
		mc.note('k', "*")
	case mc.on && ok && len(key) <= keyLen && !strings.ContainsAny(key, " ,:"):
		mc.ch.key = key
		mc.note('k', key)
	case mc.on:
		mc.by.numericLocked(irc.ERR_NEEDMOREPARAMS, "MODE", "A key of at most "+itoa(keyLen)+" characters is needed")
	}
}

func (mc *modeChange) limit() {
	if !mc.on {
		if mc.ch.limit > 0 {
			mc.ch.limit = 0
			mc.note('l')
		}
		return
	}
	param, _ := mc.next()
	if n, err := strconv.Atoi(param); err == nil && n > 0 {
		mc.ch.limit = n
		mc.note('l', itoa(n))
	}
}

func (mc *modeChange) roleLocked(letter rune) {
	nick, ok := mc.next()
	if !ok {
		return
	}
	peer := mc.server.nicks[fold(nick)]
	if peer == nil || mc.ch.members[peer] == nil {
		mc.by.numericLocked(irc.ERR_USERNOTINCHANNEL, printable(nick), mc.ch.name, "They aren't on that channel")
		return
	}
	flag := &mc.ch.members[peer].Voice
	if letter == 'o' {
		flag = &mc.ch.members[peer].Operator
	}
	if *flag != mc.on {
		*flag = mc.on
		mc.note(letter, peer.nick)
	}
}

func (mc *modeChange) banLocked() {
	mask, ok := mc.next()
	if !ok || strings.Contains(mask, " ") {
		return
	}
	mask = cut(fullMask(mask), channelLen*2)
	at := slices.IndexFunc(mc.ch.bans, func(b ban) bool { return fold(b.mask) == fold(mask) })
	switch {
	case mc.on == (at >= 0):
	case !mc.on:
		mc.ch.bans = slices.Delete(mc.ch.bans, at, at+1)
		mc.note('b', mask)
	case len(mc.ch.bans) >= mc.server.cfg.Limits.ListEntries:
		mc.by.numericLocked(irc.ERR_BANLISTFULL, mc.ch.name, mask, "Channel ban list is full")
	default:
		mc.ch.bans = append(mc.ch.bans, ban{mask, mc.by.source(), mc.server.cfg.Now()})
		mc.note('b', mask)
	}
}
