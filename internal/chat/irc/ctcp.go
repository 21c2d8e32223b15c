package irc

import "strings"

// ctcpMark stands around a request of one program to another in a message.
const ctcpMark = "\x01"

// CTCP returns the command and the rest of a message that is a request of one
// program to another, such as VERSION, or an ACTION ("/me"). ok is false for
// all other text. Some clients leave out the mark at the end.
func CTCP(text string) (command, rest string, ok bool) {
	inner, ok := strings.CutPrefix(text, ctcpMark)
	if !ok {
		return "", "", false
	}
	command, rest, _ = strings.Cut(strings.TrimSuffix(inner, ctcpMark), " ")
	return strings.ToUpper(command), rest, true
}
