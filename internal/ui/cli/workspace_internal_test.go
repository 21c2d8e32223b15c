package cli

import (
	"testing"

	"den/internal/keeper"
)

func TestWhyTellsOfBudgets(t *testing.T) {
	for _, c := range []struct {
		budget *keeper.Budget
		want   string
	}{
		{nil, "it runs"},
		{&keeper.Budget{Level: "ok", Text: "1 of 5 turns in the last hour"}, "it runs"},
		{&keeper.Budget{Level: "warned", Text: "4 of 5 turns in the last hour"}, "it runs; budget warned: 4 of 5 turns in the last hour"},
		{&keeper.Budget{Level: "exceeded", Text: "5 of 5 turns in the last hour: paused until then"}, "it runs; budget exceeded: 5 of 5 turns in the last hour: paused until then"},
	} {
		if got := whyText(keeper.AgentStatus{Why: "it runs", Budget: c.budget}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.budget, got, c.want)
		}
	}
}
