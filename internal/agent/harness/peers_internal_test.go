package harness

import (
	"fmt"
	"testing"
	"time"
)

// A program that used up its messages stays limited, however many others
// come.
func TestManyPeersDoNotFreeABot(t *testing.T) {
	var p peers
	allow := func(nick string, bot bool, now time.Time) bool {
		allowed, _ := p.allow(nick, bot, now)
		return allowed
	}
	now := time.Unix(1000, 0)
	for i := range botRate.burst + 1 {
		if got := allow("loop", true, now); got != (i < botRate.burst) {
			t.Fatalf("message %d: %v", i, got)
		}
	}
	for i := range maxPeers + 10 {
		allow(fmt.Sprint("peer", i), false, now)
	}
	if allow("LOOP", true, now) {
		t.Error("the bot begins anew")
	}
	later := now.Add(personRate.refill)
	if !allow("new", false, later) {
		t.Error("there is no room for a new peer although others used up nothing")
	}
	if allow("loop", true, later) || !allow("loop", true, now.Add(botRate.refill)) {
		t.Error("the bot does not get one message for each refill")
	}
}

// Who is not answered is told once, and again after an answer.
func TestPeersAreToldOnce(t *testing.T) {
	var p peers
	now := time.Unix(1000, 0)
	told := 0
	for i := range 2 * botRate.burst {
		allowed, first := p.allow("loop", true, now)
		if allowed && first {
			t.Errorf("message %d is answered, and told that it is not", i)
		}
		if first {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	now = now.Add(botRate.refill)
	if allowed, _ := p.allow("loop", true, now); !allowed {
		t.Error("not answered after a while")
	}
	if _, first := p.allow("loop", true, now); !first {
		t.Error("not told again after an answer")
	}
}
