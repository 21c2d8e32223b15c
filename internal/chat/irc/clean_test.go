package irc_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"den/internal/chat/irc"
)

func TestCleanMessage(t *testing.T) {
	for in, want := range map[string]string{
		"text\twith ä, ✳, 日本, שלום, a\u200db and \x02bold\x02 \x1ditalic\x0f": "text\twith ä, ✳, 日本, שלום, a\u200db and \x02bold\x02 \x1ditalic\x0f",
		"\x1b]0;title\a\x1b[2J":               "^[]0;title^G^[[2J",
		"a\x7f\u009b31m\u0085":                `a\u007f\u009b31m\u0085`,
		"\x9b31m of eight bits, caf\xe9":      "\\u009b31m of eight bits, caf\xe9",
		"rm \u202egpj.exe\u202c\u2066\u200f":  `rm \u202egpj.exe\u202c\u2066\u200f`,
		"\xe2\x80\x1b\xae":                    "\xe2\\u0080^[\xae", // ESC gone, it would turn the text
		"\x0301,01hidden\x03":                 "^C01,01hidden^C",
		"\x01ACTION waves\x01":                "\x01ACTION waves\x01",
		"\x01ACTION waves":                    "\x01ACTION waves\x01",
		"\x01ACTION a\x01b\x1b\x01":           "\x01ACTION a^Ab^[\x01",
		"\x01VERSION\x01":                     "^AVERSION^A",
		"\x01DCC SEND passwd 2130706433 80 1": "^ADCC SEND passwd 2130706433 80 1",
		"see \x01PING 1\x01":                  "see ^APING 1^A",
		"":                                    "",
	} {
		got, ok := irc.CleanMessage(in)
		if got != want || ok != !strings.HasPrefix(want, "^A") {
			t.Errorf("%q: %q, %v, want %q", in, got, ok, want)
		}
	}
}

// Whatever is said, nothing but formatting drives a reader's terminal, in UTF-8
// and in encodings of eight bits; what is clean stays as it is.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"a\x1b[31m\u009b", "\xe2\x80\x1b\xae", "\x01ACTION \x01DCC\x01", "\x01PING\x01", "\x03\x04,\x9b", "\xc2\x9b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := irc.CleanMessage(text)
		inner := got
		if what, ok := strings.CutPrefix(got, "\x01ACTION "); ok && strings.HasSuffix(what, "\x01") {
			inner = strings.TrimSuffix(what, "\x01")
		}
		for at, r := range inner {
			if r == utf8.RuneError && inner[at] >= 0x80 && inner[at] < 0xa0 {
				t.Fatalf("%q has the byte %#x", got, inner[at])
			}
			if (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) && !strings.ContainsRune("\t\n\x02\x0f\x11\x16\x1d\x1e\x1f", r) {
				t.Fatalf("%q has %U", got, r)
			}
		}
		if again, ok := irc.CleanMessage(got); again != got || !ok {
			t.Fatalf("%q became %q, and %q the second time", text, got, again)
		}
		if inner == text && got != text {
			t.Fatalf("%q was clean and became %q", text, got)
		}
	})
}
