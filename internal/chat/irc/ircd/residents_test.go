package ircd_test

import (
	"testing"

	"den/internal/chat/irc/ircd"
)

// A direct message to a resident who is away is kept, and read by it alone.
func TestMessagesForAbsentResidents(t *testing.T) {
	s, address := start(t, ircd.Config{Dir: t.TempDir()})
	s.SetResidents(map[string]string{"Fox": "secret"})
	bob := join(t, address, "bob", v3)
	bob.send("PRIVMSG fox :are you there?")
	bob.expect("PRIVMSG Fox :are you there?")
	bob.expect("301 bob Fox :not here now")
	bob.send("PRIVMSG owl :and you?")
	bob.expect("401 bob owl")
	fox, other := dial(t, address), join(t, address, "other", v3)
	fox.send("PASS secret")
	fox.register("Fox", v3)
	const always = "timestamp=2020-01-01T00:00:00.000Z timestamp=2099-01-01T00:00:00.000Z"
	if _, got := fox.labeled("CHATHISTORY TARGETS %s 10", always); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if got := history(fox, "LATEST bob * 5"); got != "are you there?" {
		t.Errorf("%q", got)
	}
	if _, got := other.labeled("CHATHISTORY TARGETS %s 10", always); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// Who is invited to a channel may read its topic before joining.
func TestInvitedReadsTopic(t *testing.T) {
	_, address := start(t, ircd.Config{Dir: t.TempDir()})
	a, b := join(t, address, "a", v3, "#c"), join(t, address, "b", v3)
	a.send("TOPIC #c :Builds. tags: go")
	a.expect("TOPIC #c")
	b.send("TOPIC #c")
	b.expect("442 b #c")
	a.send("INVITE b #c")
	b.expect("INVITE b #c")
	b.send("TOPIC #c")
	b.expect("332 b #c :Builds. tags: go")
	b.send("TOPIC #c :mine")
	b.expect("442 b #c")
}
