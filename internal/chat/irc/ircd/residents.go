package ircd

import (
	"crypto/subtle"

	"den/internal/chat/irc"
)

// A resident is one who comes back when it is away, as agents do.
type resident struct{ nick, secret string }

// SetResidents names those who come back when they are away, and the secret that
// each is known by, which it sends as PASS. Its nick is for a resident alone: who
// has it and is not the one is disconnected. A direct message to one that is not
// there is kept in the history, and read from there. Without a history nothing
// is kept.
func (s *Server) SetResidents(secrets map[string]string) {
	residents := map[string]resident{}
	for nick, secret := range secrets {
		residents[fold(nick)] = resident{nick, secret}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.residents = residents
	for nick, c := range s.nicks {
		if s.belongsToAgentLocked(c, nick) {
			c.out.close("Nickname belongs to an agent")
		}
	}
}

// belongsToAgentLocked reports whether a nick is that of a resident, and the
// client another one. An account of that name comes before it.
func (s *Server) belongsToAgentLocked(c *client, nick string) bool {
	_, is := s.residents[fold(nick)]
	return is && c.agent != fold(nick) && !s.isAccount(nick)
}

func (s *Server) isAccount(name string) bool {
	return s.cfg.Accounts != nil && s.cfg.Accounts.Has(name)
}

// recogniseLocked finds out which resident a client is, by what PASS said. It
// answers with an error if it is none.
func (s *Server) recogniseLocked(c *client) bool {
	if c.password == "" || c.account != "" {
		return true
	}
	for nick, r := range s.residents {
		if r.secret != "" && subtle.ConstantTimeCompare([]byte(r.secret), []byte(c.password)) == 1 {
			if !s.isAccount(nick) {
				c.agent = nick
			}
			return true
		}
	}
	c.numericLocked(irc.ERR_PASSWDMISMATCH, "Password incorrect")
	c.out.close("Bad password")
	return false
}
