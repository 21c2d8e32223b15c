package receiver

import (
	"testing"
	"time"

	"den/internal/agent/webhook"
	"den/internal/keeper"
)

// A receiver is told what kind of thing needs a person, by an id that stays; of
// an agent with a harness only what that cannot tell.
func TestReceiverEvents(t *testing.T) {
	since := time.Unix(1000, 0)
	for kind, c := range map[string]struct {
		kind      string
		tell, own bool // and of an agent with a harness
	}{
		keeper.WaitingQuestion:   {webhook.AgentQuestion, true, false},
		keeper.WaitingCell:       {webhook.AgentQuestion, true, false},
		keeper.WaitingDone:       {webhook.AgentComplete, true, false},
		keeper.WaitingFailed:     {webhook.AgentError, true, false},
		keeper.WaitingQuarantine: {webhook.AgentError, true, true},
		keeper.WaitingConfig:     {webhook.AgentError, true, true},
		keeper.WaitingApproval:   {"", false, false},
		keeper.WaitingBudget:     {"", false, false},
	} {
		w := keeper.Waiting{ID: kind + ":a", Kind: kind, Agent: "a", What: "words", Since: since}
		e, ok := eventOf(w, false)
		if ok != c.tell || ok && (e.Type != c.kind || e.Nick != "a" || e.Message != "words" || len(e.Data) == 0) {
			t.Errorf("%s: %v %+v", kind, ok, e)
		}
		if _, ok := eventOf(w, true); ok != c.own {
			t.Errorf("%s of an agent with a harness: %v", kind, ok)
		}
		again, _ := eventOf(w, false)
		w.Since = since.Add(time.Minute)
		if later, _ := eventOf(w, false); ok && (again.ID != e.ID || later.ID == e.ID) {
			t.Errorf("%s: ids %s, %s and later %s", kind, e.ID, again.ID, later.ID)
		}
	}
}
