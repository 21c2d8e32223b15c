package ircd

import (
	"slices"
	"strings"
)

// validNick accepts the nicks of RFC 2812 with a digit or hyphen inside.
func validNick(nick string) bool {
	for i, c := range []byte(nick) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("[]\\`_^{|}", c) >= 0
		later := '0' <= c && c <= '9' || c == '-'
		if !letter && (i == 0 || !later) {
			return false
		}
	}
	return nick != "" && len(nick) <= nickLen
}

func validChannel(name string) bool {
	return len(name) > 1 && len(name) <= channelLen && name[0] == '#' && !strings.ContainsAny(name, " ,:*?!@\a\x00\r\n") && strings.IndexFunc(name, isControl) < 0
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// cleanUser makes a user name that needs no escapes.
func cleanUser(name string) string {
	b := []byte(name)
	b = slices.DeleteFunc(b, func(c byte) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.", c) >= 0)
	})
	if len(b) == 0 {
		return "user"
	}
	return string(b[:min(len(b), userLen)])
}

// matches reports whether a name matches a mask with * and ?, in any case.
func matches(mask, name string) bool {
	mask, name = fold(mask), fold(name)
	m, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case m < len(mask) && mask[m] == '*':
			star, mark = m, n
			m++
		case m < len(mask) && (mask[m] == '?' || mask[m] == name[n]):
			m, n = m+1, n+1
		case star >= 0:
			mark++
			m, n = star+1, mark
		default:
			return false
		}
	}
	for m < len(mask) && mask[m] == '*' {
		m++
	}
	return m == len(mask)
}

// fullMask completes a ban mask to nick!user@host.
func fullMask(mask string) string {
	nick, rest, hasUser := strings.Cut(mask, "!")
	user, host, hasHost := strings.Cut(rest, "@")
	if !hasUser {
		if n, h, ok := strings.Cut(nick, "@"); ok {
			nick, host, hasHost = "*", h, true
			user = n
		}
	}
	if nick == "" {
		nick = "*"
	}
	if user == "" {
		user = "*"
	}
	if !hasHost || host == "" {
		host = "*"
	}
	return nick + "!" + user + "@" + host
}
