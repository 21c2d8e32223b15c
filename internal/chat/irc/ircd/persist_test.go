package ircd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/chat/irc/ircd"
)

// A channel with a key, or for invited users, stays closed over a restart, and
// while nobody is on it: its history is there, too.
func TestChannelsAreKept(t *testing.T) {
	dir := t.TempDir()
	t.Run("before", func(t *testing.T) {
		s, address := start(t, ircd.Config{Dir: dir})
		s.Reserve(nil, anybody)
		op := join(t, address, "op", v3, "#key", "#invited", "#plain")
		op.send("MODE #key +k secret")
		op.expect("MODE #key +k secret")
		op.send("MODE #invited +ib bad!*@*")
		op.expect("MODE #invited")
		op.send("TOPIC #key :a topic")
		op.expect("TOPIC #key :a topic")
		guest := join(t, address, "guest", "", "#plain")
		op.send("INVITE guest #invited")
		guest.expect("INVITE guest #invited")
		guest.send("JOIN #invited")
		guest.expect("366 guest #invited")
		op.send("MODE #invited +v guest")
		guest.expect("MODE #invited +v guest")
		left := join(t, address, "left", "")
		op.send("INVITE left #invited")
		left.expect("INVITE left #invited")
		left.send("JOIN #invited\r\nPART #invited")
		left.expect("PART #invited")
	})
	t.Run("after", func(t *testing.T) {
		s, address := start(t, ircd.Config{Dir: dir})
		s.Reserve(nil, anybody)
		thief := join(t, address, "thief", v3)
		for _, line := range []string{"JOIN #key", "JOIN #key guess"} {
			thief.send("%s", line)
			thief.expect("475 thief #key")
		}
		thief.send("JOIN #invited")
		thief.expect("473 thief #invited")
		thief.send("JOIN #key secret") // a member, not an operator
		thief.expect("332 thief #key :a topic")
		thief.expect("353 thief = #key :thief")
		left := join(t, address, "left", "")
		left.send("JOIN #invited")
		left.expect("473 left #invited")
		guest := join(t, address, "guest", "")
		guest.send("JOIN #invited")
		guest.expect("353 guest = #invited :+guest")
		op := join(t, address, "op", "", "#invited")
		if got := op.do("NAMES #invited"); got[0] != "353 op = #invited :+guest @op" {
			t.Errorf("%q", got)
		}
		op.send("JOIN #plain") // was not kept: it is a new one
		op.expect("353 op = #plain :@op")
	})
}

func TestNewerChannelsAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "channels.json"), []byte(`{"version":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ircd.New(ircd.Config{Dir: dir}); fault.KindOf(err) != fault.Protocol || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v", err)
	}
}
