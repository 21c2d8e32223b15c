package permission_test

import (
	"slices"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/base/fault"
)

// A question is answered with text, whatever the rules allow. The agent gets
// the answer as it is; what is kept of it has no secrets.
func TestQuestion(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state, permission.Rule{Outcome: permission.Allow, Tool: "AskUserQuestion"})
	question := permission.Request{Tool: "AskUserQuestion", Kind: permission.Question, Text: "Which token?", Choices: []string{"mine", "yours"}}
	answer := ask(t.Context(), b, question)
	asked := <-heard.approvals
	if asked.State != permission.Open || !slices.Equal(asked.Request.Choices, question.Choices) {
		t.Fatalf("%+v", asked)
	}
	for _, bad := range []permission.Answer{{Approve: true, By: "ana"}, {Text: "x", Always: true, By: "ana"}, {Text: "x"}} {
		if _, err := b.Decide(asked.ID, bad); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	const given = "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	decided, err := b.Decide(asked.ID, permission.Answer{Text: given, By: "ana"})
	if err != nil || decided.State != permission.Answered || decided.Answer == "" || strings.Contains(decided.Answer, "ghp_abc") {
		t.Errorf("%+v, %v", decided, err)
	}
	if got := <-answer; got != (permission.Decision{Allow: true, Answer: given}) {
		t.Errorf("%+v", got)
	}
	<-heard.approvals

	answer = ask(t.Context(), b, question)
	if _, err := b.Decide((<-heard.approvals).ID, permission.Answer{By: "ana", Why: "not now"}); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != (permission.Decision{Reason: "denied by ana: not now"}) {
		t.Errorf("%+v", got)
	}
	want := []string{"asked ask", "answered allow ana", "asked ask", "denied deny ana"}
	if log := events(t, state); !slices.Equal(log, want) {
		t.Errorf("audit log: %q", log)
	}
	<-heard.approvals
	answer = ask(t.Context(), b, run("make deploy"))
	id := (<-heard.approvals).ID
	if _, err := b.Decide(id, permission.Answer{Text: "yes", By: "ana"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a command was answered: %v", err)
	}
	if _, err := b.Decide(id, permission.Answer{By: "ana"}); err != nil {
		t.Error(err)
	}
	<-answer
}
