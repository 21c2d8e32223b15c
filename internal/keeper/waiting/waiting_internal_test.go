package waiting

import (
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/harness/ipc"
	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/session/cell"
)

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// The rows are agents; want is what waits, with the commands that decide it.
func TestWaitingOf(t *testing.T) {
	running := keeper.AgentStatus{Name: "crew/coder", DenSession: "w1.coder", Actual: keeper.Running, State: "ready"}
	asking := running
	asking.State, asking.Question = "asking", &conversation.Question{ID: "3f9c", Kind: "permission", Text: "Do you want\nto proceed?", Options: []conversation.Option{{Label: "Yes"}, {Label: "No"}}}
	quarantined := keeper.AgentStatus{Name: "crew/coder", Actual: keeper.Quarantined, Why: "it failed too often: exit 3", Restarts: 5, Since: noon}
	never := quarantined
	never.Restarts, never.Why = 0, "no such file: coder"
	finished := keeper.AgentStatus{Name: "crew/coder", Actual: keeper.Finished, Attention: attention.Attention{State: attention.Done, Since: noon}}
	failed := running
	failed.Attention = attention.Attention{State: attention.Failed, Since: noon, What: "the turn failed: no network", Source: "claude session file"}
	still := running
	still.Attention = attention.Attention{State: attention.Done, Since: noon, Source: "kernel"}
	looks := []keeper.Action{{Name: "look", Command: "den agent peek crew/coder"}, {Name: "seen", Command: "den seen crew/coder"}}
	approval := keeper.Approval{ID: "k3f", Agent: "crew/coder", Request: keeper.ApprovalRequest{Tool: "Bash", Command: "make\ninstall"}, Asked: "the default asks for it", Created: noon, Expires: noon.Add(time.Minute)}
	last := float64(noon.Unix())
	for _, test := range []struct {
		name string
		o    Agent
		want []keeper.Waiting
	}{
		{"an agent that works", Agent{Status: running, Harness: &Report{Status: ipc.AgentStatus{BudgetLevel: "warned"}}}, nil},
		{"a question on a screen", Agent{Status: asking, State: conversation.State{Since: noon, Source: "claude session file"}}, []keeper.Waiting{{
			ID: "question:crew/coder:3f9c", Kind: keeper.WaitingQuestion, Session: "w1.coder", Since: noon, What: "Do you want to proceed?", Evidence: "told by its claude session file",
			Actions: []keeper.Action{{Name: "1: Yes", Command: "den agent answer crew/coder 3f9c 1"}, {Name: "2: No", Command: "den agent answer crew/coder 3f9c 2"}, {Name: "attach", Command: "den agent attach crew/coder"}},
		}}},
		{"a question through a harness is an approval", Agent{Status: asking, Harnessed: true, Harness: &Report{Approvals: keeper.Approvals{Approvals: []keeper.Approval{approval}}}}, []keeper.Waiting{{
			ID: "approval:crew/coder:k3f", Kind: keeper.WaitingApproval, Session: "w1.coder", Since: noon, Expires: noon.Add(time.Minute), What: "Bash make install", Evidence: "its policy asks: the default asks for it", Approval: &approval,
			Actions: []keeper.Action{{Name: "approve", Command: "den approvals approve k3f"}, {Name: "deny", Command: "den approvals deny k3f"}},
		}}},
		{"its harness is silent", Agent{Status: asking, Harnessed: true}, nil},
		{"quarantine", Agent{Status: quarantined}, []keeper.Waiting{{
			ID: "quarantine:crew/coder", Kind: keeper.WaitingQuarantine, Since: noon, What: "it failed too often: exit 3", Evidence: "the keeper restarted it 5 times",
			Actions: []keeper.Action{{Name: "reset", Command: "den agent reset crew/coder"}, {Name: "stop", Command: "den agent stop crew/coder"}},
		}}},
		{"quarantine of one that never began", Agent{Status: never}, []keeper.Waiting{{
			ID: "quarantine:crew/coder", Kind: keeper.WaitingQuarantine, Since: noon, What: "no such file: coder", Evidence: "the keeper could not start it",
			Actions: []keeper.Action{{Name: "reset", Command: "den agent reset crew/coder"}, {Name: "stop", Command: "den agent stop crew/coder"}},
		}}},
		{"an end", Agent{Status: finished}, []keeper.Waiting{{
			ID: "done:crew/coder", Kind: keeper.WaitingDone, Since: noon, What: "it has ended", Evidence: "told by the keeper", Actions: looks,
		}}},
		{"a turn that is over", Agent{Status: still}, []keeper.Waiting{{
			ID: "done:crew/coder", Kind: keeper.WaitingDone, Session: "w1.coder", Since: noon, What: "its turn is over", Evidence: "told by the kernel", Actions: looks,
		}}},
		{"a turn that failed", Agent{Status: failed}, []keeper.Waiting{{
			ID: "failed:crew/coder", Kind: keeper.WaitingFailed, Session: "w1.coder", Since: noon, What: "the turn failed: no network", Evidence: "told by its claude session file", Actions: looks,
		}}},
		{"an open circuit", Agent{Status: running, Harnessed: true, Harness: &Report{Status: ipc.AgentStatus{CircuitOpen: true, CircuitSince: noon, Why: "exit code 1"}}}, []keeper.Waiting{{
			ID: "circuit:crew/coder", Kind: keeper.WaitingCircuit, Session: "w1.coder", Since: noon, What: "its turns failed too often: exit code 1", Evidence: "its harness has opened the circuit",
			Actions: []keeper.Action{{Name: "resume", Command: "den harness resume coder"}},
		}}},
		{"a lost login", Agent{Status: running, Harnessed: true, Harness: &Report{Status: ipc.AgentStatus{Failure: "auth", Why: "auth: log in (log the agent in)", Pending: 2}}}, []keeper.Waiting{{
			ID: "failure:crew/coder", Kind: keeper.WaitingFailure, Session: "w1.coder", What: "auth: log in (log the agent in)", Evidence: "its last turn failed by that; its harness holds 2 messages",
			Actions: []keeper.Action{{Name: "resume", Command: "den harness resume coder"}},
		}}},
		{"a failure that passes", Agent{Status: running, Harnessed: true, Harness: &Report{Status: ipc.AgentStatus{Failure: "overload", Supervisor: "watching"}}}, nil},
		{"an escalation", Agent{Status: running, Harnessed: true, Harness: &Report{Status: ipc.AgentStatus{Supervisor: "paused"}}}, []keeper.Waiting{{
			ID: "escalation:crew/coder", Kind: keeper.WaitingEscalation, Session: "w1.coder", What: "its supervisor sees that corrections do not help", Evidence: "its supervisor has called a person and waits",
			Actions: []keeper.Action{{Name: "look", Command: "den agent peek crew/coder"}, {Name: "resume", Command: "den harness resume coder"}},
		}}},
		{"a budget", Agent{Status: running, Harnessed: true, Harness: &Report{Status: ipc.AgentStatus{BudgetLevel: "exceeded", Budget: "3 of 3 turns in the last hour", BudgetUntil: noon.Add(time.Hour), LastActivation: &last, Pending: 2}}}, []keeper.Waiting{{
			ID: "budget:crew/coder", Kind: keeper.WaitingBudget, Session: "w1.coder", Since: noon, Expires: noon.Add(time.Hour), What: "3 of 3 turns in the last hour", Evidence: "its harness holds 2 messages",
			Actions: []keeper.Action{{Name: "raise its budget in the workspace file", Command: "den reload"}},
		}}},
		{"a cell", Agent{Status: running, Cell: &cell.Record{Result: cell.Result{CellID: "c1", Status: cell.Running, WaitingFor: cell.ForInput, Question: "Name?"}, Started: noon}}, []keeper.Waiting{{
			ID: "cell:crew/coder:c1", Kind: keeper.WaitingCell, Session: "w1.coder", Since: noon, What: "Name?", Evidence: "cell c1 waits for input",
			Actions: []keeper.Action{{Name: "answer", Command: "den answer w1.coder TEXT"}, {Name: "interrupt", Command: "den int w1.coder"}},
		}}},
	} {
		for i := range test.want {
			test.want[i].Agent = "crew/coder"
		}
		got := of(test.o, commands{})
		if !slices.EqualFunc(got, test.want, sameWaiting) {
			t.Errorf("%s:\n got %+v\nwant %+v", test.name, got, test.want)
		}
	}
}

func TestRestarted(t *testing.T) {
	for times, want := range map[int]string{0: "the keeper could not start it", 1: "the keeper restarted it once", 2: "the keeper restarted it 2 times"} {
		if got := restarted(times); got != want {
			t.Errorf("%d: %s, want %s", times, got, want)
		}
	}
}

func sameWaiting(a, b keeper.Waiting) bool {
	sameApproval := a.Approval == nil && b.Approval == nil || a.Approval != nil && b.Approval != nil && a.Approval.ID == b.Approval.ID
	return a.ID == b.ID && a.Kind == b.Kind && a.Agent == b.Agent && a.Session == b.Session && a.Since.Equal(b.Since) && a.Expires.Equal(b.Expires) &&
		a.What == b.What && a.Evidence == b.Evidence && slices.Equal(a.Actions, b.Actions) && sameApproval
}

// Commands are exact: they name the workspace where the caller did, the agent
// where an id is not enough, and survive a shell.
func TestCommandsAreExact(t *testing.T) {
	a := keeper.Approval{ID: "k3f", Agent: "coder"}
	c := commands{file: "my team/it's.toml", ambiguous: map[string]bool{"k3f": true}}
	if got, want := c.decide("deny", a), `den approvals deny k3f --agent coder --file 'my team/it'\''s.toml'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (commands{}).bare("answer", "", "a;b"); got != `den answer '' 'a;b'` {
		t.Errorf("%s", got)
	}
	asks := func(ids ...string) Agent {
		var r Report
		for _, id := range ids {
			r.Approvals.Approvals = append(r.Approvals.Approvals, keeper.Approval{ID: id})
		}
		return Agent{Harness: &r}
	}
	if got := ambiguousIDs([]Agent{asks("same", "one"), asks("same"), {}}); !got["same"] || got["one"] {
		t.Errorf("%v", got)
	}
}

// A file that is held needs a word, another one a correction.
func TestWaitingConfig(t *testing.T) {
	held := ofConfig(keeper.Ps{Config: "den.toml", Problem: "held: the workspace's file would end 2 of 2 agents"}, commands{})
	wrong := ofConfig(keeper.Ps{Config: "den.toml", Problem: "den.toml:3: no"}, commands{})
	if held.Actions[0].Command != "den reload --yes" || wrong.Actions[0].Command != "den reload" {
		t.Errorf("%+v, %+v", held, wrong)
	}
}

func TestLongestFirst(t *testing.T) {
	all := []keeper.Waiting{{ID: "unknown"}, {ID: "new", Since: noon}, {ID: "old", Since: noon.Add(-time.Hour)}, {ID: "another", Since: noon}}
	slices.SortStableFunc(all, longestFirst)
	var ids []string
	for _, w := range all {
		ids = append(ids, w.ID)
	}
	if got := strings.Join(ids, " "); got != "old another new unknown" {
		t.Error(got)
	}
}
