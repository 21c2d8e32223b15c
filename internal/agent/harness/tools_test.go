package harness_test

import (
	"context"
	"den/internal/agent/conversation"
	"encoding/json"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/runner"
	"den/internal/agent/runner/script"
)

// toolUser is a driver whose agent uses a tool in every turn, that often.
type toolUser struct {
	script.Driver
	times int
}

func (d toolUser) Open(ctx context.Context, o runner.Options) (runner.Session, error) {
	s, err := d.Driver.Open(ctx, o)
	return toolSession{s, d.times}, err
}

type toolSession struct {
	runner.Session
	times int
}

func (s toolSession) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	for range s.times {
		each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool("m", "t", "Bash", json.RawMessage(`{"command":"ls `+prompt[len(prompt)-1:]+`"}`))})
	}
	return s.Session.Turn(ctx, prompt, each)
}

// An answer lists the tools of its own turn.
func TestAnswerHasTools(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer, func(o *harness.Options) { o.Driver = toolUser{times: 1} })
	conn := w.dial("echo")
	for _, say := range []string{"1", "2"} {
		var answer conversation.Answer
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Converse, Message: "say " + say}, &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Tools) != 1 || answer.Tools[0].Name != "Bash" || string(answer.Tools[0].Input) != `{"command":"ls `+say+`"}` || answer.Text != say || answer.Certainty != "exact" {
			t.Errorf("%+v", answer)
		}
	}
}

// The tools of a turn that has more events than are kept are all listed, also
// to who asks for its answer again. After a restart they are not known any more.
func TestAnswerHasAllToolsOfLongTurn(t *testing.T) {
	const times = 600
	w := newWorld(t)
	ask := func() (answer conversation.Answer) {
		t.Helper()
		if _, err := w.dial("echo").Call(t.Context(), ipc.Request{Type: ipc.Converse, Message: "say 1", MessageID: "long"}, &answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	manyTools := func(o *harness.Options) { o.Driver = toolUser{times: times} }
	a := w.start("echo", sayer, manyTools)
	for _, asked := range []string{"first", "again"} {
		if answer := ask(); len(answer.Tools) != times || answer.ToolsIncomplete {
			t.Errorf("asked %s: %d tools, incomplete: %v", asked, len(answer.Tools), answer.ToolsIncomplete)
		}
	}
	a.stop()
	w.start("echo", sayer, manyTools)
	if answer := ask(); len(answer.Tools) != 0 || !answer.ToolsIncomplete || answer.Text != "1" {
		t.Errorf("after a restart: %d tools, incomplete: %v, %q", len(answer.Tools), answer.ToolsIncomplete, answer.Text)
	}
}
