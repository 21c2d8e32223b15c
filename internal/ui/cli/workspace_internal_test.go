package cli

import (
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
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

func TestNotUp(t *testing.T) {
	now := time.Unix(1000, 0)
	since := now.Add(-58 * time.Second)
	up := keeper.AgentStatus{Name: "a", Wanted: keeper.Running, Actual: keeper.Running, Since: since}
	for name, tt := range map[string]struct {
		agents []keeper.AgentStatus
		want   string
	}{
		"all are up": {[]keeper.AgentStatus{up, {Name: "b", Wanted: keeper.Running, Actual: keeper.Finished}, {Name: "c", Wanted: keeper.Stopped, Actual: keeper.Stopped}}, ""},
		"in a step": {[]keeper.AgentStatus{up, {Name: "b", Wanted: keeper.Running, Actual: keeper.Starting, Step: "session_setup", Why: "is wanted", Since: since}},
			"1 of 2 agents are not up after 1m0s; the keeper goes on:\n  b: starting for 58s, at step session_setup: is wanted"},
		"between two tries": {[]keeper.AgentStatus{{Name: "b", Wanted: keeper.Running, Actual: keeper.Starting, Why: "failed 3 times", Since: since}},
			"1 of 1 agents are not up after 1m0s; the keeper goes on:\n  b: starting for 58s: failed 3 times"},
		"on its way down": {[]keeper.AgentStatus{{Name: "b", Wanted: keeper.Stopped, Actual: keeper.Stopping, Why: "was stopped by hand", Since: since}},
			"1 of 1 agents are not up after 1m0s; the keeper goes on:\n  b: stopping for 58s: was stopped by hand"},
	} {
		err := notUp(tt.agents, time.Minute, now)
		switch {
		case err == nil && tt.want == "":
		case err == nil || err.Error() != tt.want || fault.KindOf(err) != fault.Timeout:
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// A long value leaves the other lines as they are.
func TestExplainedKeepsItsColumns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", explainedWidth+1)
	table := explained{{"a", `"é"`, "den.toml"}, {"start_command", long, "preset"}, {"b", `"two"`, ""}}
	var out strings.Builder
	table.print(&out)
	want := "a              \"é\"    den.toml\n" +
		"start_command  " + long + "  preset\n" +
		"b              \"two\"\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
