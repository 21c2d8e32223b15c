package irc_test

import (
	"testing"

	"den/internal/chat/irc"
)

func TestCTCP(t *testing.T) {
	type parts struct {
		command, rest string
		ok            bool
	}
	for text, want := range map[string]parts{
		"\x01VERSION\x01":            {"VERSION", "", true},
		"\x01ping 123 456\x01":       {"PING", "123 456", true},
		"\x01ACTION waves at all":    {"ACTION", "waves at all", true},
		"\x01ACTION waves \x01":      {"ACTION", "waves ", true},
		"\x01":                       {"", "", true},
		"hello":                      {},
		"see \x01VERSION\x01":        {},
		"":                           {},
		"\x02bold\x02 is not a ctcp": {},
	} {
		command, rest, ok := irc.CTCP(text)
		if got := (parts{command, rest, ok}); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
