package acceptance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/agent/conversation"
	"den/internal/keeper"
	"den/internal/testkit/modelstub"
)

// replySources are what the answers of each agent are read from, and how surely
// they are the right ones at least.
var replySources = map[string]struct {
	source    string
	certainty []string
}{
	"claude":   {"claude transcript", []string{"matched"}},
	"codex":    {"codex app-server", []string{"exact", "matched"}}, // the first message is typed
	"opencode": {"opencode messages", []string{"exact"}},
	"gemini":   {"gemini chat file", []string{"matched"}},
	"copilot":  {"copilot events", []string{"matched"}},
}

// Real agents are asked through a keeper: each answer is the one to its
// message, with the tools and the tokens of its turn; a permission that opens
// meanwhile is reported, and the same id gets the answer later.
func TestAgentAnswersAsks(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range stateAgents {
		t.Run(a.name, func(t *testing.T) {
			stub := modelstub.Start(t)
			asks := func(text string) modelstub.Match {
				return modelstub.All(modelstub.Is(text), modelstub.Offers(a.tool))
			}
			stub.When(asks("which one?"), modelstub.Say("The ", "first."), modelstub.Say("The second."))
			stub.When(asks("make a file"), modelstub.Use(a.tool, fmt.Sprintf(a.input, "made")), modelstub.Say("It is made."))
			k := keepAgent(t, realAgent{name: a.name, args: append([]string{}, a.args...)}, a.home(t, stub))
			k.do("up", "--wait", "-t", "2m")

			for i, want := range []string{"The first.", "The second."} {
				answer := k.asked(fmt.Sprintf("q-%d", i), "which one?")
				if answer.Text != want || answer.DurationMs == 0 || len(answer.Tools) != 0 {
					t.Errorf("answer %d: %+v", i, answer)
				}
			}
			if again := k.asked("q-0", "which one?"); again.Text != "The first." {
				t.Errorf("the same id again: %+v", again)
			}

			out, errOut, code := k.try("agent", "ask", a.name, "make a file", "--id", "q-file", "-t", "2m")
			if code != 13 || !strings.Contains(errOut, "the message stays") {
				t.Fatalf("a permission: exit %d\n%s%s", code, out, errOut)
			}
			k.approve(a)
			answer := k.asked("q-file", "make a file")
			if answer.Text != "It is made." || len(answer.Tools) == 0 {
				t.Errorf("%+v", answer)
			}
			k.do("down", "-t", "1m")
			k.leavesNothing()
		})
	}
}

// asked asks the agent, and demands the source that it has.
func (k *kept) asked(id, text string) conversation.Answer {
	k.t.Helper()
	out := k.do("agent", "ask", k.agent, text, "--id", id, "-t", "3m", "-j")
	var answer conversation.Answer
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		k.t.Fatalf("%v\n%s", err, out)
	}
	k.t.Logf("%s: %s", text, out)
	if want := replySources[k.agent]; answer.Source != want.source || !slices.Contains(want.certainty, string(answer.Certainty)) || answer.Usage.OutputTokens == 0 {
		k.t.Errorf("the answer is %+v, want one from the %s", answer, want.source)
	}
	return answer
}

// approve presses the keys for yes until the agent asks no more: agents ignore
// keys for a moment after they have drawn a dialog.
func (k *kept) approve(a stateAgent) {
	k.t.Helper()
	for deadline := time.Now().Add(statePatience); ; time.Sleep(time.Second) {
		var ps keeper.Ps
		if err := json.Unmarshal([]byte(k.do("ps", "-j")), &ps); err != nil {
			k.t.Fatal(err)
		}
		if ps.Agents[0].State != string(conversation.Asking) {
			return
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("it still asks\n%s", k.screen())
		}
		if strings.Contains(k.screen(), a.dialog) {
			k.do(append([]string{"keys", ps.Agents[0].DenSession}, a.approve...)...)
		}
	}
}
