package irc

import (
	"strings"
	"unicode/utf8"

	"den/internal/base/plainjson"
)

// formatting are the controls that change how text looks and hide nothing:
// bold, reset, monospace, reverse, italic, strikethrough and underline. Colours
// are not among them: text in the colour of its background is not seen, and
// people decide by what they see.
const formatting = "\x02\x0f\x11\x16\x1d\x1e\x1f"

// Clean returns text in which nothing but formatting drives the terminal of a
// reader: other controls and the characters that change the direction of text
// are shown as den shows them in terminals. Nothing is removed, so that no two
// parts become a third thing. Bytes that are not UTF-8 stay if they are no
// controls in any encoding: people may use another one.
func Clean(text string) string {
	out, done := []byte(nil), 0 // how much of text is in out
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && size == 1 {
			if r = rune(text[at]); r >= 0xa0 {
				at++
				continue
			}
		}
		if r >= ' ' && r < 0x7f || r >= 0xa0 && !plainjson.Misleads(r) || r < ' ' && strings.IndexByte(formatting, byte(r)) >= 0 {
			at += size
			continue
		}
		out = plainjson.AppendText(append(out, text[done:at]...), r)
		at += size
		done = at
	}
	if done == 0 {
		return text
	}
	return string(append(out, text[done:]...))
}

// action is how a message begins that is what its sender does ("/me").
const action = ctcpMark + "ACTION "

// CleanMessage is Clean for the text of a message, which may also be an action.
// ok is false for other requests of one program to another, which make clients
// answer, or take files: they are shown.
func CleanMessage(text string) (clean string, ok bool) {
	if what, ok := strings.CutPrefix(text, action); ok {
		return action + Clean(strings.TrimSuffix(what, ctcpMark)) + ctcpMark, true
	}
	return Clean(text), !strings.HasPrefix(text, ctcpMark)
}

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
