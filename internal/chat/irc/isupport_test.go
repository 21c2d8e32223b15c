package irc_test

import (
	"strings"
	"testing"

	"den/internal/chat/irc"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		m          irc.CaseMapping
		name, want string
	}{
		{irc.CaseASCII, "A[B]\\^Z~", "a[b]\\^z~"},
		{irc.CaseRFC1459, "A[B]\\^Z~", "a{b}|~z~"},
		{irc.CaseRFC1459Strict, "A[B]\\^Z~", "a{b}|^z~"},
		{"unheard-of", "A[B]", "a[b]"},
		{irc.CaseASCII, "É", "É"},
	} {
		if got := c.m.Fold(c.name); got != c.want {
			t.Errorf("%s: Fold(%q) = %q, want %q", c.m, c.name, got, c.want)
		}
	}
}

func TestISupport(t *testing.T) {
	s := irc.NewISupport()
	if s.CaseMapping != irc.CaseRFC1459 || !s.IsChannel("&a") || s.NickLen != 9 {
		t.Errorf("a server that says nothing: %+v", s)
	}
	s.Apply(strings.Fields(`CASEMAPPING=ascii CHANTYPES=# PREFIX=(qaohv)~&@%+ NICKLEN=64 NETWORK=a\x20b WHOX CHATHISTORY=100 STATUSMSG=@+`))
	if s.CaseMapping != irc.CaseASCII || s.IsChannel("&a") || !s.IsChannel("#a") || s.IsChannel("") || s.NickLen != 64 ||
		s.Network != "a b" || !s.WHOX || s.ChatHistory != 100 || s.StatusMsg != "@+" {
		t.Errorf("%+v", s)
	}
	if signs, nick := s.SplitPrefixes("~@x"); signs != "~@" || nick != "x" {
		t.Errorf("%q, %q", signs, nick)
	}
	s.Apply(strings.Fields("-CASEMAPPING -WHOX -PREFIX NICKLEN=x PREFIX=(a"))
	if s.CaseMapping != irc.CaseRFC1459 || s.WHOX || s.Prefixes != "@+" || s.NickLen != 64 {
		t.Errorf("after taking back: %+v", s)
	}
}

func FuzzISupport(f *testing.F) {
	f.Add("PREFIX=(ov)@+ -X NETWORK=\\x41")
	f.Fuzz(func(t *testing.T, tokens string) {
		s := irc.NewISupport()
		s.Apply(strings.Fields(tokens))
		s.SplitPrefixes("@+a")
		s.IsChannel("#a")
	})
}
