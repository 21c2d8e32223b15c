package tui

import (
	"strings"
	"testing"

	"den/internal/keeper"
)

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
