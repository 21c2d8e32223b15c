package irc

import (
	"strings"

	"den/internal/base/fault"
)

// The limits of one line. They include the CR LF and, for tags, the '@' and
// the space that ends them.
const (
	MaxBody       = 512
	MaxTags       = 8191        // what a server may send
	MaxClientTags = 4096        // what a client may send: 4094 bytes of data, '@' and a space
	maxParams     = 15          // RFC 2812; the last one takes the rest
	crlf          = "\r\n"      // ends a line
	forbidden     = "\x00\r\n"  // in no part of a message
	notInMiddle   = " \x00\r\n" // in no parameter but the last
)

// A Message is one line of the protocol.
type Message struct {
	Tags    Tags
	Source  string // who sent it, without the colon, or empty
	Command string // a word, or three digits
	Params  []string
}

// Param returns a parameter by its index, or "" if there are fewer.
func (m Message) Param(i int) string {
	if i < 0 || i >= len(m.Params) {
		return ""
	}
	return m.Params[i]
}

// Last returns the last parameter, or "".
func (m Message) Last() string { return m.Param(len(m.Params) - 1) }

// Numeric returns the command as a number, or 0 if it is a word.
func (m Message) Numeric() int {
	if len(m.Command) != 3 {
		return 0
	}
	n := 0
	for _, c := range []byte(m.Command) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// Parse reads one line, with or without the CR LF at its end. It is lenient
// about spaces, as every implementation is, and strict about bytes that could
// begin another line.
func Parse(line string) (Message, error) {
	var m Message
	rest := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if strings.ContainsAny(rest, forbidden) {
		return m, fault.Errorf(fault.Protocol, "parse message: a NUL, CR or LF inside a line")
	}
	if after, ok := strings.CutPrefix(rest, "@"); ok {
		tags, body, found := strings.Cut(after, " ")
		if !found || len(tags)+2 > MaxTags {
			return m, fault.Errorf(fault.Protocol, "parse message: tags without a command, or longer than %d bytes", MaxTags)
		}
		m.Tags, rest = parseTags(tags), strings.TrimLeft(body, " ")
	}
	if len(rest)+len(crlf) > MaxBody {
		return m, fault.Errorf(fault.Protocol, "parse message: longer than %d bytes", MaxBody)
	}
	if after, ok := strings.CutPrefix(rest, ":"); ok {
		m.Source, rest, _ = strings.Cut(after, " ")
	}
	m.Command, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	if !validCommand(m.Command) {
		return m, fault.Errorf(fault.Protocol, "parse message: %q is no command", m.Command)
	}
	m.Params = parseParams(rest)
	return m, nil
}

func parseParams(rest string) []string {
	var params []string
	for {
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return params
		}
		if rest[0] == ':' {
			return append(params, rest[1:])
		}
		if len(params) == maxParams-1 {
			return append(params, rest)
		}
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		params = append(params, word)
	}
}

func validCommand(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return s != ""
}

// Append appends the message as one line with its CR LF. It refuses what
// would be read as something else: a newline, a space in a parameter that is
// not the last, a line above the limits.
func (m Message) Append(b []byte) ([]byte, error) {
	start := len(b)
	b, err := m.Tags.append(b)
	if err != nil {
		return b[:start], err
	}
	body := len(b)
	b, err = m.appendBody(b)
	if err != nil {
		return b[:start], err
	}
	if len(b)-body > MaxBody {
		return b[:start], fault.Errorf(fault.Usage, "encode %s: %d bytes, and a line has at most %d", m.Command, len(b)-body, MaxBody)
	}
	return b, nil
}

func (m Message) appendBody(b []byte) ([]byte, error) {
	if m.Source != "" {
		if strings.ContainsAny(m.Source, notInMiddle) {
			return b, fault.Errorf(fault.Usage, "encode message: %q is no source", m.Source)
		}
		b = append(append(append(b, ':'), m.Source...), ' ')
	}
	if !validCommand(m.Command) {
		return b, fault.Errorf(fault.Usage, "encode message: %q is no command", m.Command)
	}
	if len(m.Params) > maxParams {
		return b, fault.Errorf(fault.Usage, "encode %s: more than %d parameters", m.Command, maxParams)
	}
	b = append(b, m.Command...)
	for i, p := range m.Params {
		last := i == len(m.Params)-1
		plain := p != "" && p[0] != ':' && !strings.ContainsAny(p, notInMiddle)
		if !plain && (!last || strings.ContainsAny(p, forbidden)) {
			return b, fault.Errorf(fault.Usage, "encode %s: %q cannot be parameter %d", m.Command, p, i+1)
		}
		b = append(b, ' ')
		if last && (!plain || m.endsInText()) {
			b = append(b, ':')
		}
		b = append(b, p...)
	}
	return append(b, crlf...), nil
}

// endsInText reports whether the last parameter is free text. It then gets its
// colon even if it is one word: simple clients find it by that.
func (m Message) endsInText() bool {
	switch m.Command {
	case "PRIVMSG", "NOTICE", "TOPIC", "KICK", "PART", "USER":
		return len(m.Params) >= 2
	case "QUIT", "ERROR", "AWAY", "PING", "PONG", "SETNAME":
		return true
	}
	return len(m.Params) >= 2 && m.Numeric() > 0
}

// String is the message as one line without its end, for logs and tests.
func (m Message) String() string {
	b, err := m.Append(nil)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(string(b), crlf)
}

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
