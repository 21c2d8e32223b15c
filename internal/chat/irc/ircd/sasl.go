package ircd

import (
	"encoding/base64"
	"errors"
	"strings"

	"den/internal/chat/irc"
)

var errNotPlain = errors.New("not a response of PLAIN")

// A login is the state of a SASL exchange.
type login struct {
	active   bool
	encoded  string // what has arrived of the response
	attempts int
}

const (
	saslChunk  = 400     // a response of this length goes on in the next line
	maxSASL    = 2 << 10 // of a whole response
	saslAbort  = "*"
	saslEmpty  = "+"
	mechanisms = "PLAIN"
)

// authenticate handles AUTHENTICATE. A password is checked without the lock:
// it takes tens of milliseconds.
func (s *Server) authenticate(c *client, m irc.Message) {
	credentials, complete := s.loginStep(c, m.Param(0))
	if !complete {
		return
	}
	name, password, err := readPlain(credentials)
	account := ""
	if err == nil {
		account, err = s.checkLogin(c, name, password)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !s.cfg.Accounts.Has(account) { // it may have been removed meanwhile
		c.loginFailedLocked(irc.ERR_SASLFAIL, "SASL authentication failed")
		return
	}
	s.loggedInLocked(c, account)
	c.numericLocked(irc.RPL_SASLSUCCESS, "SASL authentication successful")
}

// loginStep takes one AUTHENTICATE and returns the whole response if this was
// its end.
func (s *Server) loginStep(c *client, param string) (response string, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cfg.Accounts == nil || !c.caps.has(capSASL):
		c.numericLocked(irc.ERR_UNKNOWNCOMMAND, "AUTHENTICATE", "SASL is not enabled")
	case c.account != "":
		c.numericLocked(irc.ERR_SASLALREADY, "You have already authenticated")
	case !c.login.active && strings.EqualFold(param, mechanisms):
		c.login.active = true
		c.sendLocked(s.messageLocked("AUTHENTICATE", saslEmpty))
	case !c.login.active:
		c.numericLocked(irc.RPL_SASLMECHS, mechanisms, "are available SASL mechanisms")
		c.loginFailedLocked(irc.ERR_SASLFAIL, "SASL authentication failed")
	case param == saslAbort:
		c.login.active, c.login.encoded = false, ""
		c.numericLocked(irc.ERR_SASLABORTED, "SASL authentication aborted")
	case len(param) > saslChunk || len(c.login.encoded)+len(param) > maxSASL:
		c.loginFailedLocked(irc.ERR_SASLTOOLONG, "SASL message too long")
	default:
		if param != saslEmpty {
			c.login.encoded += param
		}
		if len(param) < saslChunk {
			return c.login.encoded, true
		}
	}
	return "", false
}

// readPlain reads authzid NUL authcid NUL password.
func readPlain(encoded string) (name, password string, err error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", "", err
	}
	parts := strings.Split(string(data), "\x00")
	if len(parts) != 3 || parts[0] != "" && fold(parts[0]) != fold(parts[1]) {
		return "", "", errNotPlain
	}
	return parts[1], parts[2], nil
}

// checkLogin returns the account whose password it is. Few are checked at once.
func (s *Server) checkLogin(c *client, name, password string) (string, error) {
	c.burst.release()
	s.logins <- struct{}{}
	defer func() { <-s.logins }()
	return s.cfg.Accounts.Check(name, password)
}

func (c *client) loginFailedLocked(code, text string) {
	c.login.active, c.login.encoded = false, ""
	c.login.attempts++
	c.numericLocked(code, text)
	if c.login.attempts >= c.server.cfg.Limits.LoginAttempts {
		c.out.close("Too many login attempts")
	}
}

func (s *Server) loggedInLocked(c *client, account string) {
	c.login = login{}
	c.account = account
	c.numericLocked(irc.RPL_LOGGEDIN, c.displayNick()+"!"+orStar(c.user)+"@"+c.host, account, "You are now logged in as "+account)
	if !c.registered {
		return
	}
	notice := s.eventLocked(c, "ACCOUNT", account)
	for peer := range c.peersLocked() {
		if peer.caps.has(capAccountNotify) {
			peer.sendLocked(notice)
		}
	}
}

func orStar(s string) string {
	if s == "" {
		return "*"
	}
	return s
}
