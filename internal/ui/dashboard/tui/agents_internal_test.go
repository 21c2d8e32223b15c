package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/ui/dashboard/fleet"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// crew is a workspace with an agent in every kind of trouble.
func crew() *fleet.Workspace {
	return &fleet.Workspace{Ps: keeper.Ps{Workspace: "crew", Agents: []keeper.AgentStatus{
		{Name: "writer", Session: "work", Wanted: "running", Actual: "running", Why: "as configured", Since: noon.Add(-3 * time.Minute)},
		{Name: "tester", Session: "id-begins", Wanted: "running", Actual: "starting", Why: "try 2 of 5", Restarts: 1, Since: noon},
		{Name: "far\x1b[31m 日本語 🇩🇪 " + strings.Repeat("long ", 9), Wanted: "running", Actual: "quarantined", Why: "it ended 5 times within a minute: exit 1", Restarts: 5},
		{Name: "idle", Wanted: "stopped", Actual: "stopped", Why: "a user said so"},
	}}}
}

// The column of worktrees is there if some agent has one.
func TestWorktreesOfAgents(t *testing.T) {
	u := newSample(120, 24)
	u.Update(listMsg{sample()})
	w := crew()
	u.Update(agentsMsg{workspace: w})
	press(u, "w")
	if text := ansi.Strip(u.draw()); strings.Contains(text, "worktree") {
		t.Errorf("worktrees that nobody has:\n%s", text)
	}
	w.Agents[0].Worktree = &keeper.Tree{Branch: "den/crew/writer", Ahead: 2, Changed: 1, Untracked: 2}
	w.Agents[1].Worktree = &keeper.Tree{Branch: "den/crew/tester\x1b[31m" + strings.Repeat(" long", 20), Problem: "its directory is gone"}
	checkLines(t, u, "with worktrees")
	text := ansi.Strip(u.draw())
	for _, want := range []string{"worktree", "+2 ~3 den/crew/writer", "writer: as configured · worktree den/crew/writer, 2 ahead, 3 dirty", "? den/crew/tester"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// An agent that asks nobody is marked, in the table and above its screen.
func TestAgentsThatBypass(t *testing.T) {
	u := newSample(120, 24)
	u.Update(listMsg{sample()})
	w := crew()
	u.Update(agentsMsg{workspace: w})
	if text := ansi.Strip(u.draw()); strings.Contains(text, "bypass") {
		t.Errorf("nobody bypasses anything:\n%s", text)
	}
	w.Agents[0].Approval = "bypass"
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "agent  bypasses permission questions") {
		t.Errorf("no mark above the screen:\n%s", text)
	}
	press(u, "w")
	checkLines(t, u, "with a mark")
	text := ansi.Strip(u.draw())
	for _, want := range []string{"! bypass approval · as configured", "writer: as configured · bypasses permission questions"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestAgentsOfTheWorkspace(t *testing.T) {
	u := newSample(80, 24)
	press(u, "w")
	if u.agents.open {
		t.Error("a table without a workspace")
	}
	u.Update(listMsg{sample()})
	u.Update(agentsMsg{workspace: crew()})
	text := ansi.Strip(u.draw())
	for _, want := range []string{"crew: 2 of 4 agents as wanted", "w agents", "writer running  agent"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	press(u, "w")
	checkLines(t, u, "the table")
	text = ansi.Strip(u.draw())
	for _, want := range []string{"agent", "wanted", "actual", "why", "›● writer", "running", "3m", "◌ tester", "try 2 of 5", "✗ far [31m", "quarantined", "it ended", "○ idle"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	press(u, "down", "enter")
	if u.agents.open || u.chosen != "id-begins" {
		t.Errorf("open %v, chosen %q", u.agents.open, u.chosen)
	}
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "tester starting  agent, wanted running") {
		t.Errorf("the session's title does not say whose it is:\n%s", text)
	}
	press(u, "w", "down", "enter") // it has no session
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "times within a minute: exit 1") {
		t.Errorf("why is cut:\n%s", text)
	}
	if !u.agents.open {
		t.Error("left for a session that is not there")
	}
	// A keeper that does not answer hides nothing that was known.
	u.Update(agentsMsg{err: errors.New("the keeper does not answer")})
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "the keeper does not answer") || !strings.Contains(text, "writer") {
		t.Errorf("shown:\n%s", text)
	}
	press(u, "esc")
	if u.agents.open {
		t.Error("Esc leaves the table open")
	}
	u.Update(agentsMsg{})
	if text := ansi.Strip(u.draw()); strings.Contains(text, "agents") {
		t.Errorf("the workspace is gone, its agents are shown:\n%s", text)
	}
}

func TestManyAgentsScroll(t *testing.T) {
	w := &fleet.Workspace{Ps: keeper.Ps{Workspace: "many"}}
	for i := range 100 {
		w.Agents = append(w.Agents, keeper.AgentStatus{Name: "agent-" + string(rune('a'+i%26)) + strings.Repeat("x", i/26), Wanted: "running", Actual: "running"})
	}
	u := newSample(60, 12)
	u.Update(agentsMsg{workspace: w})
	press(u, "w", "G")
	checkLines(t, u, "the end")
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "›● agent-vxxx") {
		t.Errorf("the last is not shown:\n%s", text)
	}
	press(u, "g")
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "›● agent-a ") {
		t.Errorf("the first is not shown:\n%s", text)
	}
}

// TestAskAgents: what has not changed is told once.
func TestAskAgents(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked, told := 0, 0
	ask := func(context.Context) (*fleet.Workspace, error) {
		if asked++; asked == 2 {
			cancel()
		}
		return crew(), nil
	}
	newPump(nil).askAgents(ctx, ask, func(tea.Msg) { told++ })
	if told != 1 {
		t.Errorf("asked %d times, told %d times", asked, told)
	}
}

// What waits for a person is counted, and one key goes to it.
func TestWaitingIsCountedAndVisited(t *testing.T) {
	u := newSample(100, 24)
	u.Update(listMsg{sample()})
	w := crew()
	u.Update(agentsMsg{workspace: w})
	if text := ansi.Strip(u.draw()); strings.Contains(text, "need you") {
		t.Errorf("nothing waits:\n%s", text)
	}
	press(u, "n")
	if u.agents.open || u.agents.visited != "" {
		t.Error("went to what does not wait")
	}
	w.Attention = &keeper.Attention{Waiting: []keeper.Waiting{
		{ID: "a", Agent: "tester", Session: "id-begins", What: "Bash make \x1b[2J install", Actions: []keeper.Action{{Name: "approve", Command: "den approvals approve k3f"}}, Since: noon.Add(-time.Minute)},
		{ID: "b", Agent: w.Agents[2].Name, What: "it ended 5 times", Actions: []keeper.Action{{Name: "reset", Command: "den agent reset far"}}},
	}}
	u.Update(agentsMsg{workspace: w})
	checkLines(t, u, "what waits")
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "2 need you (n)") {
		t.Errorf("not counted:\n%s", text)
	}
	press(u, "n")
	text := ansi.Strip(u.draw())
	if u.chosen != "id-begins" || !strings.Contains(text, "! waits for 1m: Bash make") || strings.Contains(u.draw(), "\x1b[2J") {
		t.Errorf("chosen %q:\n%s", u.chosen, text)
	}
	press(u, "n") // it has no session: its agent is shown
	text = ansi.Strip(u.draw())
	if !u.agents.open || u.agents.chosen != w.Agents[2].Name || !strings.Contains(text, "agent reset far") || !strings.Contains(text, "!") {
		t.Errorf("open %v, chosen %q:\n%s", u.agents.open, u.agents.chosen, text)
	}
	press(u, "n") // and round
	if u.agents.open || u.chosen != "id-begins" {
		t.Errorf("open %v, chosen %q", u.agents.open, u.chosen)
	}
	w.Attention = nil
	u.Update(agentsMsg{workspace: w})
	press(u, "n")
	if text := ansi.Strip(u.draw()); strings.Contains(text, "waits") {
		t.Errorf("still shown:\n%s", text)
	}
}
