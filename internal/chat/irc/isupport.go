package irc

import (
	"strconv"
	"strings"
)

// ISupport is what a server says about itself in numeric 005. Its zero value
// is not useful: begin with NewISupport.
type ISupport struct {
	CaseMapping CaseMapping
	ChanTypes   string // the first characters of channel names
	StatusMsg   string // prefixes that narrow a message to some of a channel's members
	PrefixModes string // the modes of members, highest first: ov
	Prefixes    string // their signs in the same order: @+
	NickLen     int
	Network     string
	WHOX        bool
	ChatHistory int               // most messages in one answer; 0: no limit was named
	Tokens      map[string]string // every token, by its name
}

// NewISupport returns what holds for a server that says nothing.
func NewISupport() ISupport {
	return ISupport{CaseMapping: CaseRFC1459, ChanTypes: "#&", PrefixModes: "ov", Prefixes: "@+", NickLen: 9, Tokens: map[string]string{}}
}

// maxTokens bounds what is kept of a server's tokens. More are ignored.
const maxTokens = 256

// Apply takes the tokens of one 005: its parameters without the first, which
// is our nick, and the last, which is text.
func (s *ISupport) Apply(tokens []string) {
	for _, token := range tokens {
		name, value, _ := strings.Cut(token, "=")
		if negated, ok := strings.CutPrefix(name, "-"); ok {
			delete(s.Tokens, negated)
			s.set(negated, s.defaultOf(negated))
			continue
		}
		if len(s.Tokens) < maxTokens {
			value = unescapeToken(value)
			s.Tokens[name] = value
			s.set(name, value)
		}
	}
}

func (s *ISupport) defaultOf(name string) string {
	d := NewISupport()
	switch name {
	case "CASEMAPPING":
		return string(d.CaseMapping)
	case "CHANTYPES":
		return d.ChanTypes
	case "PREFIX":
		return "(" + d.PrefixModes + ")" + d.Prefixes
	case "NICKLEN":
		return strconv.Itoa(d.NickLen)
	}
	return ""
}

func (s *ISupport) set(name, value string) {
	switch name {
	case "CASEMAPPING":
		s.CaseMapping = CaseMapping(value)
	case "CHANTYPES":
		s.ChanTypes = value
	case "STATUSMSG":
		s.StatusMsg = value
	case "NETWORK":
		s.Network = value
	case "WHOX":
		_, s.WHOX = s.Tokens[name]
	case "NICKLEN":
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			s.NickLen = n
		}
	case "CHATHISTORY":
		s.ChatHistory, _ = strconv.Atoi(value) // Best effort: no number is no limit.
	case "PREFIX":
		modes, signs, ok := strings.Cut(strings.TrimPrefix(value, "("), ")")
		if ok && len(modes) == len(signs) {
			s.PrefixModes, s.Prefixes = modes, signs
		}
	}
}

// unescapeToken replaces \xHH by the byte that it names.
func unescapeToken(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if i+3 < len(s) && s[i] == '\\' && s[i+1] == 'x' {
			if n, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				b, i = append(b, byte(n)), i+3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// IsChannel reports whether a name is a channel's, not a user's.
func (s *ISupport) IsChannel(name string) bool {
	return name != "" && strings.IndexByte(s.ChanTypes, name[0]) >= 0
}

// Fold folds a name by the server's casemapping.
func (s *ISupport) Fold(name string) string { return s.CaseMapping.Fold(name) }

// SplitPrefixes cuts the signs off a member's name: "@+nick" gives "@+", "nick".
func (s *ISupport) SplitPrefixes(name string) (signs, nick string) {
	nick = strings.TrimLeft(name, s.Prefixes)
	return name[:len(name)-len(nick)], nick
}

// A CaseMapping is the rule by which a server compares names, as its ISUPPORT
// spells it.
type CaseMapping string

// The mappings in use. An unknown one is taken for ascii.
const (
	CaseASCII         CaseMapping = "ascii"
	CaseRFC1459       CaseMapping = "rfc1459"        // also {}|~ are the lower case of []\^
	CaseRFC1459Strict CaseMapping = "rfc1459-strict" // also {}| are the lower case of []\
)

// Fold returns the lower case of a name: names are equal if their folds are.
func (m CaseMapping) Fold(s string) string {
	for i := 0; i < len(s); i++ {
		if m.lower(s[i]) != s[i] {
			return m.fold(s)
		}
	}
	return s
}

func (m CaseMapping) fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = m.lower(c)
	}
	return string(b)
}

// Equal reports whether two names are the same to the server.
func (m CaseMapping) Equal(a, b string) bool {
	return len(a) == len(b) && m.Fold(a) == m.Fold(b)
}

func (m CaseMapping) lower(c byte) byte {
	upper := byte('Z')
	switch m {
	case CaseRFC1459:
		upper = '^'
	case CaseRFC1459Strict:
		upper = ']'
	}
	if 'A' <= c && c <= upper {
		return c + ('a' - 'A')
	}
	return c
}
