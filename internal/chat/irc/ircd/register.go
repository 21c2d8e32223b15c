package ircd

import (
	"fmt"
	"strings"

	"den/internal/chat/irc"
)

// serverVersion is what VERSION and the greeting say.
const serverVersion = "den-ircd-1"

func handlePass(s *Server, c *client, m irc.Message) {
	if c.registered {
		c.numericLocked(irc.ERR_ALREADYREGISTERED, "You may not reregister")
		return
	}
	c.password = m.Param(0)
}

// logInByPass handles PASS with an account and its password, for clients that
// have no SASL. As there, the password is checked without the lock.
func (s *Server) logInByPass(c *client, credentials string) {
	name, password, _ := strings.Cut(credentials, ":")
	account, err := s.checkLogin(c, name, password)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || c.registered || !s.cfg.Accounts.Has(account) { // it may have been removed meanwhile
		c.numericLocked(irc.ERR_PASSWDMISMATCH, "Password incorrect")
		c.out.close("Bad password")
		return
	}
	s.loggedInLocked(c, account)
}

func handleUser(s *Server, c *client, m irc.Message) {
	if c.registered || c.user != "" {
		c.numericLocked(irc.ERR_ALREADYREGISTERED, "You may not reregister")
		return
	}
	c.user, c.realName = cleanUser(m.Param(0)), cut(m.Param(3), realNameLen)
	s.tryRegisterLocked(c)
}

func handleNick(s *Server, c *client, m irc.Message) {
	nick := m.Param(0)
	switch {
	case nick == "":
		c.numericLocked(irc.ERR_NONICKNAMEGIVEN, "No nickname given")
	case !validNick(nick):
		c.numericLocked(irc.ERR_ERRONEUSNICKNAME, printable(nick), "Erroneous nickname")
	case nick == c.nick:
	case !c.registered:
		c.nick = nick
		s.tryRegisterLocked(c)
	case s.nickIsFreeLocked(c, nick):
		s.renameLocked(c, nick)
	}
}

// printable makes a parameter of a client fit for the middle of an answer.
func printable(param string) string {
	word, _, _ := strings.Cut(param, " ")
	if word == "" || word[0] == ':' {
		return "*"
	}
	return cut(word, channelLen)
}

// nickIsFreeLocked answers with an error if a nick cannot be used. A nick that
// is an account's name is that account's, and that of a resident the resident's:
// a lost connection of the same one gives way, and nobody else can take it.
func (s *Server) nickIsFreeLocked(c *client, nick string) bool {
	if s.belongsToAgentLocked(c, nick) {
		c.numericLocked(irc.ERR_NICKNAMEINUSE, nick, "Nickname belongs to an agent")
		return false
	}
	holder := s.nicks[fold(nick)]
	if holder == nil || holder == c {
		if !s.isAccount(nick) || fold(c.account) == fold(nick) {
			return true
		}
		c.numericLocked(irc.ERR_NICKNAMEINUSE, nick, "Nickname belongs to an account")
		return false
	}
	sameAccount := holder.account != "" && fold(holder.account) == fold(c.account)
	if sameAgent := holder.agent != "" && holder.agent == c.agent; !sameAccount && !sameAgent {
		c.numericLocked(irc.ERR_NICKNAMEINUSE, nick, "Nickname is already in use")
		return false
	}
	holder.out.close("Replaced by a new connection")
	delete(s.nicks, fold(nick))
	return true
}

func (s *Server) renameLocked(c *client, nick string) {
	change := s.eventLocked(c, "NICK", nick)
	delete(s.nicks, fold(c.nick))
	c.nick = nick
	s.nicks[fold(nick)] = c
	c.sendLocked(change)
	for peer := range c.peersLocked() {
		peer.sendLocked(change)
	}
}

// tryRegisterLocked completes the registration if all parts have arrived.
func (s *Server) tryRegisterLocked(c *client) {
	if c.registered || c.negotiating || c.nick == "" || c.user == "" {
		return
	}
	if c.loginRequired && c.account == "" {
		s.refuseStrangerLocked(c)
		return
	}
	if !s.recogniseLocked(c) {
		return
	}
	nick := c.nick
	c.nick = "" // it has none until it is known to be free
	if !s.nickIsFreeLocked(c, nick) {
		return
	}
	c.nick, c.password = nick, ""
	c.registered = true
	s.nicks[fold(nick)] = c
	s.greetLocked(c)
}

// refuseStrangerLocked says what somebody has to do who did not log in.
func (s *Server) refuseStrangerLocked(c *client) {
	text := "You must log in to use this server, by SASL or PASS account:password"
	if s.cfg.LoginHint != "" {
		text += "; " + s.cfg.LoginHint
	}
	if c.caps.has(capStandardReplies) {
		c.failLocked("*", "ACCOUNT_REQUIRED", text)
	} else {
		c.numericLocked(irc.ERR_PASSWDMISMATCH, text)
	}
	c.out.close("Login required: " + text)
}

func (s *Server) greetLocked(c *client) {
	c.numericLocked(irc.RPL_WELCOME, fmt.Sprintf("Welcome to %s, %s", s.cfg.Network, c.source()))
	c.numericLocked(irc.RPL_YOURHOST, fmt.Sprintf("Your host is %s, running %s", s.cfg.Name, serverVersion))
	c.numericLocked(irc.RPL_CREATED, "This server was started "+s.created.UTC().Format(timeLayout))
	c.numericLocked(irc.RPL_MYINFO, s.cfg.Name, serverVersion, "Bi", "biklmnotv", "bklov")
	s.supportLocked(c)
	handleLusers(s, c, irc.Message{})
	handleMotd(s, c, irc.Message{})
}

// tokensInALine is how many tokens one 005 may have: thirteen by convention.
const tokensInALine = 13

func (s *Server) supportLocked(c *client) {
	tokens := []string{
		"AWAYLEN=" + fmt.Sprint(awayLen), "BOT=B", "CASEMAPPING=ascii", "CHANLIMIT=#:" + fmt.Sprint(s.cfg.Limits.ChannelsPerClient),
		"CHANMODES=b,k,l,imnt", "CHANNELLEN=" + fmt.Sprint(channelLen), "CHANTYPES=#", "KICKLEN=" + fmt.Sprint(awayLen),
		"MAXLIST=b:" + fmt.Sprint(s.cfg.Limits.ListEntries), "MODES=" + fmt.Sprint(maxModes), "NAMELEN=" + fmt.Sprint(realNameLen),
		"NETWORK=" + s.cfg.Network, "NICKLEN=" + fmt.Sprint(nickLen), "PREFIX=(ov)@+",
		"TARGMAX=PRIVMSG:" + fmt.Sprint(maxTargets) + ",NOTICE:" + fmt.Sprint(maxTargets) + ",TAGMSG:" + fmt.Sprint(maxTargets),
		"TOPICLEN=" + fmt.Sprint(topicLen), "USERLEN=" + fmt.Sprint(userLen), "WHOX",
	}
	if s.history != nil {
		tokens = append(tokens, "CHATHISTORY="+fmt.Sprint(s.cfg.Limits.HistoryPage), "MSGREFTYPES=msgid,timestamp")
	}
	for len(tokens) > 0 {
		n := min(len(tokens), tokensInALine)
		c.numericLocked(irc.RPL_ISUPPORT, append(tokens[:n:n], "are supported by this server")...)
		tokens = tokens[n:]
	}
}
