package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// asking is a workspace in which two agents wait for a person.
func asking() *fleet.Workspace {
	w := crew()
	w.Attention = &keeper.Attention{Waiting: []keeper.Waiting{
		{ID: "approval:writer:k3f", Kind: keeper.WaitingApproval, Agent: "writer", Session: "work", What: "execute rm -rf build", Since: noon.Add(-2 * time.Minute),
			Approval: &keeper.Approval{Request: keeper.ApprovalRequest{Tool: "execute", Command: "rm -rf build \u202e"}, Asked: "no rule allows it"},
			Actions:  []keeper.Action{{Name: "approve", Command: "den approvals approve k3f"}, {Name: "deny"}}},
		{ID: "approval:tester:q1", Kind: keeper.WaitingApproval, Agent: "tester", Session: "id-begins", What: "which branch?",
			Actions: []keeper.Action{{Name: "answer", Command: "den approvals answer q1 TEXT"}, {Name: "deny"}}},
	}}
	return w
}

// decider records what was decided.
type decider struct {
	calls []string
	err   error
}

func (d *decider) decide(_ context.Context, id string, way int, words string) (string, error) {
	d.calls = append(d.calls, fmt.Sprintf("%s %d %s", id, way, words))
	return "it is decided", d.err
}

func newAsking(width, height int) (*ui, *decider) {
	d := &decider{}
	u := newUI(Options{Now: func() time.Time { return noon }, Decide: d.decide}, newPump(nil))
	u.Update(tea.WindowSizeMsg{Width: width, Height: height})
	u.Update(listMsg{sample()})
	u.Update(agentsMsg{workspace: asking()})
	return u, d
}

// enter presses Enter, and does what comes of it.
func enter(u *ui) {
	if _, cmd := u.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); cmd != nil {
		u.Update(cmd())
	}
}

func TestAnswerOnTheDashboard(t *testing.T) {
	u, d := newAsking(100, 24)
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "y answer") {
		t.Errorf("it does not say how to answer:\n%s", text)
	}
	press(u, "y")
	checkLines(t, u, "the panel")
	text := ansi.Strip(u.draw())
	for _, want := range []string{"writer waits for 2m:", "execute", `rm -rf build \u{202e}`, "because: no rule allows it", "1 approve   2 deny"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	enter(u) // nothing is chosen
	press(u, "9")
	enter(u)
	if len(d.calls) > 0 {
		t.Fatalf("decided without a choice: %q", d.calls)
	}
	press(u, "1", "esc", "2")
	enter(u)
	if want := "approval:writer:k3f 1 "; strings.Join(d.calls, "|") != want {
		t.Errorf("decided %q, want %q", d.calls, want)
	}
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "it is decided") {
		t.Errorf("what came of it is not in\n%s", text)
	}
	enter(u) // once is enough
	if len(d.calls) != 1 {
		t.Errorf("decided %q", d.calls)
	}
	press(u, "esc")
	if u.answer.open {
		t.Error("it stays")
	}
}

// Words are typed, keys among them do nothing else; an error is said, and it can
// be tried again.
func TestAnswerInWords(t *testing.T) {
	u, d := newAsking(100, 24)
	press(u, "w", "down", "y", "1")
	enter(u) // no words yet
	press(u, "use q and y 2", "backspace", "2")
	d.err = errors.New("the harness does not answer")
	enter(u)
	checkLines(t, u, "an error")
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "the harness does not answer") {
		t.Errorf("the error is not in\n%s", text)
	}
	d.err = nil
	enter(u)
	if want := "approval:tester:q1 0 use q and y 2|approval:tester:q1 0 use q and y 2"; strings.Join(d.calls, "|") != want {
		t.Errorf("decided %q, want %q", d.calls, want)
	}
}

// Nobody approves what they do not see, or what waits no more.
func TestAnswerNeedsTheWholeRequest(t *testing.T) {
	u, d := newAsking(60, 8)
	long := asking()
	long.Attention.Waiting[0].Approval.Request.Command = strings.Repeat("one more line\n", 30)
	u.Update(agentsMsg{workspace: long})
	press(u, "y", "1")
	checkLines(t, u, "a long request")
	enter(u)
	if text := ansi.Strip(u.draw()); len(d.calls) > 0 || !strings.Contains(text, "lines more") || !strings.Contains(text, "not all of it fits") {
		t.Errorf("decided %q:\n%s", d.calls, text)
	}
	press(u, "2")
	enter(u)
	if len(d.calls) != 1 {
		t.Errorf("it cannot be denied: %q", d.calls)
	}
	u.Update(agentsMsg{workspace: crew()})
	press(u, "esc")
	u.Update(agentsMsg{workspace: asking()})
	press(u, "y", "1")
	u.Update(agentsMsg{workspace: crew()})
	checkLines(t, u, "gone")
	enter(u)
	if text := ansi.Strip(u.draw()); len(d.calls) != 1 || !strings.Contains(text, "it waits no more") {
		t.Errorf("decided %q:\n%s", d.calls, text)
	}
}

// The dashboard does not show the session that it runs in.
func TestDoesNotShowItself(t *testing.T) {
	u := newUI(Options{Now: func() time.Time { return noon }, Self: "id-work"}, newPump(nil))
	u.Update(tea.WindowSizeMsg{Width: 100, Height: 24})
	list := sample()
	u.Update(listMsg{list})
	if text := ansi.Strip(u.draw()); strings.Contains(text, "work") || u.chosen != "id-begins" || !strings.Contains(text, "2 active of 5") {
		t.Errorf("chosen %s:\n%s", u.chosen, text)
	}
	if len(list.Homes[0].Sessions) != 5 || list.Homes[0].Active != 2 {
		t.Error("the listing of others was changed")
	}
	u.Update(listMsg{&dashboard.Listing{}})
}

// A wide terminal shows the cells of a session beside its screen; a narrow one
// shows list and screen one at a time; a tiny one says what it needs.
func TestSizes(t *testing.T) {
	show := func(width, height int, keys ...string) string {
		t.Helper()
		u := newSample(width, height)
		u.Update(listMsg{sample()})
		u.Update(frameMsg{id: u.chosen, frame: frame(80, 24, "on the screen")})
		u.Update(lineMsg{id: u.chosen, line: line()})
		press(u, keys...)
		checkLines(t, u, "a size")
		return ansi.Strip(u.draw())
	}
	if text := show(160, 50); !strings.Contains(text, "on the screen") || !strings.Contains(text, "3 cells") || !strings.Contains(text, "✗ false") || !strings.Contains(text, "? read x") {
		t.Errorf("160 columns:\n%s", text)
	}
	if text := show(100, 30); strings.Contains(text, "3 cells") {
		t.Errorf("100 columns:\n%s", text)
	}
	if text := show(40, 8); !strings.Contains(text, "begins") || strings.Contains(text, "on the screen") {
		t.Errorf("40 columns:\n%s", text)
	}
	if text := show(40, 8, "enter"); !strings.Contains(text, "on the screen") {
		t.Errorf("40 columns, the screen:\n%s", text)
	}
	for width, want := range map[int]string{39: "den dashboard needs 40x8, this is 39x7", 30: "it needs 40x8, this is 30x7", 20: "40x8, not 20x7", 6: "40x8  "} {
		if text := show(width, 7); !strings.Contains(text, want) {
			t.Errorf("%d columns: %q", width, text)
		}
	}
}

// The dashboard offers the ways that it can carry out, and shows requests whole.
func TestWaysToAnswer(t *testing.T) {
	approval := keeper.Approval{ID: "k3f", Asked: "no rule allows it", Request: keeper.ApprovalRequest{Tool: "Bash", Kind: "execute", Command: "make\ninstall", Dir: "/srv", Paths: []string{"/a", "/b"}, URL: "https://a.test", Text: "please"}}
	request := keeper.Waiting{Kind: keeper.WaitingApproval, Approval: &approval, Actions: []keeper.Action{{Name: "approve"}, {Name: "deny"}}}
	question := keeper.Waiting{Kind: keeper.WaitingApproval, Actions: []keeper.Action{{Name: "answer"}, {Name: "deny"}}}
	asked := keeper.Waiting{Kind: keeper.WaitingQuestion, Actions: []keeper.Action{{Name: "1: Yes"}, {Name: "2: No: never"}, {Name: "attach"}}}
	for _, c := range []struct {
		name string
		w    keeper.Waiting
		want []Way
	}{
		{"a request", request, []Way{{Name: "approve", Gives: true}, {Name: "deny"}}},
		{"a question of a harness", question, []Way{{Name: "answer", Words: true, Gives: true}, {Name: "deny"}}},
		{"a question on a screen", asked, []Way{{Name: "Yes", Gives: true}, {Name: "No: never", Gives: true}}},
		{"what it cannot decide", keeper.Waiting{Kind: keeper.WaitingQuarantine, Actions: []keeper.Action{{Name: "reset"}}}, nil},
	} {
		got := waysOf(c.w)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
	text := requestText(request)
	for _, want := range []string{"Bash", "make\ninstall", "/srv", "/a", "/b", "https://a.test", "please", "no rule allows it"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
