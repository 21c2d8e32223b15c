package harness

import (
	"testing"

	"den/internal/agent/conversation/outbox"
	"den/internal/agent/runner"
)

// Five refusals of a vendor in a row are not five mistakes of the agent.
func TestVendorsFailuresAreNotTheAgents(t *testing.T) {
	for class, own := range map[runner.Class]bool{
		runner.Auth: false, runner.Billing: false, runner.Quota: false, runner.Overload: false, runner.NoSession: false,
		runner.Context: true, runner.Bug: true, runner.Gone: true, runner.Silent: true,
	} {
		if got := ownFault(&runner.Failure{Class: class}); (got != nil) != own {
			t.Errorf("%s: %v", class, got)
		}
	}
}

// Who asked is always told something. A program is not told that there are no
// words: it would answer that.
func TestAnswerText(t *testing.T) {
	person, bot := Route{Kind: RouteChannel, Sender: "bob"}, Route{Kind: RouteChannel, Sender: "fox", Bot: true}
	for name, row := range map[string]struct {
		message outbox.Message
		route   Route
		want    string
	}{
		"words":              {outbox.Message{Answer: " hello\n"}, person, "hello"},
		"failed":             {outbox.Message{Reason: "overload"}, person, "I could not answer: overload"},
		"words and a reason": {outbox.Message{Answer: "half", Reason: "overload"}, person, "half"},
		"wordless":           {outbox.Message{Answer: " \n"}, person, "I have ended my turn without words."},
		"wordless to a bot":  {outbox.Message{}, bot, ""},
		"failed for a bot":   {outbox.Message{Reason: "overload"}, bot, "I could not answer: overload"},
	} {
		if got := answerText(row.message, row.route); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
