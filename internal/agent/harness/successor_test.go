package harness_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// What an account asked in private is not answered to somebody else who has its
// nick by then, but to the account, when it is back.
func TestSuccessorOfANickGetsNoAnswer(t *testing.T) {
	accounts, err := ircd.OpenAccounts(filepath.Join(t.TempDir(), "accounts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Set("bob", "password"); err != nil {
		t.Fatal(err)
	}
	w := newWorldWith(t, func(c *ircd.Config) { c.Accounts = accounts })
	begun, block := filepath.Join(w.dir, "begun"), filepath.Join(w.dir, "block")
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start("slow", `cat >/dev/null; touch `+begun+`; while [ -e `+block+` ]; do sleep 0.05; done; echo a secret`)
	limits := irc.ClientLimits{Regain: 10 * time.Millisecond} // the server may not be done with who had the nick
	asker := irc.ClientConfig{Address: w.address, Nick: "bobby", Limits: limits, Login: &irc.Login{Account: "bob", Password: "password"}}
	bob, err := irc.Dial(t.Context(), asker)
	if err != nil {
		t.Fatal(err)
	}
	say(t, bob, "slow", "tell me")
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	bob.Close()
	successor, err := irc.Dial(t.Context(), irc.ClientConfig{Address: w.address, Nick: "bobby", Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	for successor.Nick() != "bobby" {
		time.Sleep(time.Millisecond)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	carol := w.person("carol")
	defer carol.Close()
	say(t, carol, "slow", "and me")
	hears(t, carol, "slow", 1) // answers are sent in order: bob's was tried before
	say(t, carol, "bobby", "that is all")
	awaitEvent(t, successor, func(e irc.Event) bool {
		if e.Kind == irc.EventMessage && e.From.Nick == "slow" {
			t.Errorf("the successor hears %q", e.Text)
		}
		return e.Kind == irc.EventMessage && e.From.Nick == "carol"
	})
	successor.Close()
	if t.Failed() {
		return // bob's answer is gone
	}
	if bob, err = irc.Dial(t.Context(), asker); err != nil {
		t.Fatal(err)
	}
	defer bob.Close()
	if e := hears(t, bob, "slow", 1)[0]; e.Text != "a secret" {
		t.Errorf("%q", e.Text)
	}
}
