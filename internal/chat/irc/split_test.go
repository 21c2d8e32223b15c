package irc_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"den/internal/chat/irc"
)

func TestSplitText(t *testing.T) {
	for _, c := range []struct {
		text string
		room int
		want []string
	}{
		{"", 10, nil},
		{"hello", 5, []string{"hello"}},
		{"hello!", 5, []string{"hello", "!"}},
		{"one two three", 9, []string{"one two", " three"}},
		{"one two three", 7, []string{"one two", " three"}},
		{"a bbbbbbbbbbbb", 8, []string{"a bbbbbb", "bbbbbb"}},
		{"héé", 4, []string{"hé", "é"}},
		{"日本語", 7, []string{"日本", "語"}},
		{"a\nb\r\n\r\nc\rd\x00e", 10, []string{"a", "b", "c", "de"}},
		{"\xff\xfe\xfd\xfc\xfb", 4, []string{"\xff\xfe\xfd\xfc", "\xfb"}},
		{"\x80\x80\x80\x80\x80", 4, []string{"\x80\x80\x80\x80", "\x80"}},
	} {
		if got := irc.SplitText(c.text, c.room); !reflect.DeepEqual(got, c.want) {
			t.Errorf("SplitText(%q, %d) = %q, want %q", c.text, c.room, got, c.want)
		}
	}
}

// The line as others receive it is full to the last byte.
func TestRoomIsExact(t *testing.T) {
	source, target := "spark-claude!claude@host.example", "#general"
	room := irc.Room(source, "PRIVMSG", target)
	m := irc.Message{Source: source, Command: "PRIVMSG", Params: []string{target, strings.Repeat("x", room)}}
	b, err := m.Append(nil)
	if err != nil || len(b) != irc.MaxBody {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	m.Params[1] += "x"
	if _, err := m.Append(nil); err == nil {
		t.Error("one byte more fits too")
	}
}

func FuzzSplitText(f *testing.F) {
	f.Add("hello 日本語 world\nnext", uint8(7))
	f.Add("\xff\x80\x80\x80\x80\x80é", uint8(4))
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		room := int(n)%200 + utf8.UTFMax
		for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(text), "\n") {
			pieces := irc.SplitText(line, room)
			if strings.Join(pieces, "") != line {
				t.Fatalf("%q became %q", line, pieces)
			}
		}
		for _, piece := range irc.SplitText(text, room) {
			if piece == "" || len(piece) > room || strings.ContainsAny(piece, "\r\n\x00") {
				t.Fatalf("piece %q does not fit in %d", piece, room)
			}
			if utf8.ValidString(text) && !utf8.ValidString(piece) {
				t.Fatalf("piece %q cuts a character", piece)
			}
		}
	})
}
