package ircd

import (
	"maps"
	"net"
)

// Reserve has some nicks given to people of this machine only. may tells whether
// one is at the other end of a connection; it is not asked under the server's
// lock, and an error is told to the client. Who has such a nick and may not is
// disconnected. Clients that log in are not asked about: their account says who
// they are.
func (s *Server) Reserve(nicks []string, may func(net.Conn) error) {
	reserved := map[string]bool{}
	for _, nick := range nicks {
		reserved[fold(nick)] = true
	}
	s.mu.Lock()
	changed := !maps.Equal(s.reserved, reserved)
	s.reserved, s.mayReserved = reserved, may
	var holders []*client
	for c := range s.conns {
		if changed && reserved[fold(c.nick)] && c.isAskedAboutLocked() {
			holders = append(holders, c)
		}
	}
	s.mu.Unlock()
	for _, c := range holders {
		if err := may(c.conn); err != nil {
			c.out.close(reservedText(err))
		}
	}
}

// isAskedAboutLocked reports whether it is not known who the client is.
func (c *client) isAskedAboutLocked() bool { return c.account == "" && !c.loginRequired }

// askReserved returns why a client may not have a nick, nil if it may. A client
// without a login is asked about with its first nick, too: a person is known
// from then on.
func (s *Server) askReserved(c *client, nick string) error {
	s.mu.Lock()
	may, reserved, first := s.mayReserved, s.reserved[fold(nick)], !c.asked && c.password == ""
	ask := may != nil && (reserved || first) && c.isAskedAboutLocked()
	s.mu.Unlock()
	if !ask {
		return nil
	}
	err := may(c.conn)
	s.mu.Lock()
	c.asked, c.person = true, err == nil
	s.mu.Unlock()
	if !reserved {
		return nil
	}
	return err
}

// reservedText is what a client is told.
func reservedText(refused error) string {
	return cut("Nickname is reserved: "+refused.Error(), awayLen)
}
