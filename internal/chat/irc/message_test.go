package irc_test

import (
	"reflect"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/chat/irc"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line string
		want irc.Message
	}{
		{"PING\r\n", irc.Message{Command: "PING"}},
		{":a!b@c PRIVMSG #x :hello  there ", irc.Message{Source: "a!b@c", Command: "PRIVMSG", Params: []string{"#x", "hello  there "}}},
		{"PRIVMSG   #x   hi", irc.Message{Command: "PRIVMSG", Params: []string{"#x", "hi"}}},
		{"TOPIC #x :", irc.Message{Command: "TOPIC", Params: []string{"#x", ""}}},
		{"PRIVMSG #x ::)", irc.Message{Command: "PRIVMSG", Params: []string{"#x", ":)"}}},
		{"001 me :Welcome", irc.Message{Command: "001", Params: []string{"me", "Welcome"}}},
		{`@a=1\:\s\\\r\n\b\;+b;c= :s X`, irc.Message{Tags: irc.Tags{{"a", "1; \\\r\nb"}, {"+b", ""}, {"c", ""}}, Source: "s", Command: "X"}},
		{"@a=1;a=2 X", irc.Message{Tags: irc.Tags{{"a", "2"}}, Command: "X"}},
		{"X 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", irc.Message{Command: "X", Params: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15 16"}}},
	} {
		got, err := irc.Parse(c.line)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Parse(%q) = %#v, %v", c.line, got, err)
		}
	}
	for _, bad := range []string{"", " ", ":a", ":a ", "@a", "@a ", "PRIV-MSG x", "A\x00", "A b\rC", "A b\nC", "A " + strings.Repeat("x", 510), "@" + strings.Repeat("x", 8190) + " A"} {
		if m, err := irc.Parse(bad); fault.KindOf(err) != fault.Protocol {
			t.Errorf("Parse(%.20q) = %v, %v", bad, m, err)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		m    irc.Message
		want string
	}{
		{irc.Message{Command: "JOIN", Params: []string{"#x"}}, "JOIN #x"},
		{irc.Message{Command: "PRIVMSG", Params: []string{"#x", "hi"}}, "PRIVMSG #x :hi"},
		{irc.Message{Command: "MODE", Params: []string{"#x", "+o", "a"}}, "MODE #x +o a"},
		{irc.Message{Command: "X", Params: []string{""}}, "X :"},
		{irc.Message{Tags: irc.Tags{{"a", "; "}, {"b", ""}}, Source: "s", Command: "366", Params: []string{"n", "#c", "End"}}, `@a=\:\s;b :s 366 n #c :End`},
	} {
		if got := c.m.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for _, bad := range []irc.Message{
		{},
		{Command: "X Y"},
		{Command: "X", Params: []string{"a b", "c"}},
		{Command: "X", Params: []string{":a", "c"}},
		{Command: "X", Params: []string{"", "c"}},
		{Command: "X", Params: []string{"a\r\nQUIT"}},
		{Command: "X", Params: []string{"a\x00"}},
		{Command: "X", Source: "a b"},
		{Command: "X", Source: "a\n"},
		{Command: "X", Tags: irc.Tags{{"a b", ""}}},
		{Command: "X", Tags: irc.Tags{{"a", "\x00"}}},
		{Command: "X", Tags: irc.Tags{{"a", strings.Repeat("x", 8188)}}},
		{Command: "X", Params: []string{strings.Repeat("x", 509)}},
		{Command: "X", Params: make([]string, 16)},
	} {
		if b, err := bad.Append([]byte("kept")); fault.KindOf(err) != fault.Usage || string(b) != "kept" {
			t.Errorf("%#v: %q, %v", bad, b, err)
		}
	}
}

// What Parse accepts, Append writes so that Parse reads the same; and no line
// holds another.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{"@a=b\\s;c :n!u@h PRIVMSG #x :hi there", "PING x", ":s 005 n A=B C :are supported", "X ::", "@+a/b=\\ X"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		m, err := irc.Parse(line)
		if err != nil {
			return
		}
		b, err := m.Append(nil)
		if err != nil {
			// The colon before one word of text, and the escapes of a tag
			// that had more than it needed, may pass the limit.
			if len(line) < 500 {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		text := string(b)
		if !strings.HasSuffix(text, "\r\n") || strings.ContainsAny(text[:len(text)-2], "\r\n\x00") {
			t.Fatalf("%q is not one line", text)
		}
		again, err := irc.Parse(text)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%q: %#v became %#v, %v", line, m, again, err)
		}
	})
}

// Append never writes a second line, whatever the parts.
func FuzzAppend(f *testing.F) {
	f.Add("k", "v", "src", "CMD", "a", "b c")
	f.Fuzz(func(t *testing.T, key, value, source, command, a, b string) {
		m := irc.Message{Tags: irc.Tags{{key, value}}, Source: source, Command: command, Params: []string{a, b}}
		line, err := m.Append(nil)
		if err != nil {
			return
		}
		got, err := irc.Parse(string(line))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("%#v became %#v, %v", m, got, err)
		}
	})
}

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
