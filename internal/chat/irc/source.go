package irc

import "strings"

// A Source is who sent a message: a user, or a server with only a name.
type Source struct{ Nick, User, Host string }

// ParseSource reads nick[!user][@host].
func ParseSource(s string) Source {
	var src Source
	s, src.Host, _ = cutLast(s, "@")
	src.Nick, src.User, _ = strings.Cut(s, "!")
	return src
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (s Source) String() string {
	text := s.Nick
	if s.User != "" {
		text += "!" + s.User
	}
	if s.Host != "" {
		text += "@" + s.Host
	}
	return text
}
