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
	now := time.Unix(1000, 0)
	for i := range botRate.burst + 1 {
		if got := p.allow("loop", true, now); got != (i < botRate.burst) {
			t.Fatalf("message %d: %v", i, got)
		}
	}
	for i := range maxPeers + 10 {
		p.allow(fmt.Sprint("peer", i), false, now)
	}
	if p.allow("LOOP", true, now) {
		t.Error("the bot begins anew")
	}
	later := now.Add(personRate.refill)
	if !p.allow("new", false, later) {
		t.Error("there is no room for a new peer although others used up nothing")
	}
	if p.allow("loop", true, later) || !p.allow("loop", true, now.Add(botRate.refill)) {
		t.Error("the bot does not get one message for each refill")
	}
}
