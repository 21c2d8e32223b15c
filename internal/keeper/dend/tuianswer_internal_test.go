package dend

import (
	"strings"
	"testing"

	"den/internal/keeper"
	"den/internal/ui/dashboard/tui"
)

// The dashboard offers the ways that it can carry out, and shows requests whole.
func TestWaysToAnswer(t *testing.T) {
	approval := keeper.Approval{ID: "k3f", Asked: "no rule allows it", Request: keeper.ApprovalRequest{Tool: "Bash", Kind: "execute", Command: "make\ninstall", Dir: "/srv", Paths: []string{"/a", "/b"}, URL: "https://a.test", Text: "please"}}
	question := approval
	question.Request.Kind = "question"
	asked := keeper.Waiting{Kind: keeper.WaitingQuestion, Actions: []keeper.Action{{Name: "1: Yes"}, {Name: "2: No: never"}, {Name: "attach"}}}
	for _, c := range []struct {
		name string
		w    keeper.Waiting
		want []tui.Way
	}{
		{"a request", waitingApproval(approval, commands{}), []tui.Way{{Name: "approve", Gives: true}, {Name: "deny"}}},
		{"a question of a harness", waitingApproval(question, commands{}), []tui.Way{{Name: "answer", Words: true, Gives: true}, {Name: "deny"}}},
		{"a question on a screen", asked, []tui.Way{{Name: "Yes", Gives: true}, {Name: "No: never", Gives: true}}},
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
	text := requestText(waitingApproval(approval, commands{}))
	for _, want := range []string{"Bash", "make\ninstall", "/srv", "/a", "/b", "https://a.test", "please", "no rule allows it"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
