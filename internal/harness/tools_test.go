package harness_test

import (
	"context"
	"encoding/json"
	"testing"

	"den/internal/harness"
	"den/internal/harness/ipc"
	"den/internal/runner"
	"den/internal/runner/script"
)

// toolUser is a driver whose agent uses a tool in every turn.
type toolUser struct{ script.Driver }

func (d toolUser) Open(ctx context.Context, o runner.Options) (runner.Session, error) {
	s, err := d.Driver.Open(ctx, o)
	return toolSession{s}, err
}

type toolSession struct{ runner.Session }

func (s toolSession) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool("m", "t", "Bash", json.RawMessage(`{"command":"ls `+prompt[len(prompt)-1:]+`"}`))})
	return s.Session.Turn(ctx, prompt, each)
}

// An answer lists the tools of its own turn.
func TestAnswerHasTools(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer, func(o *harness.Options) { o.Driver = toolUser{} })
	conn := w.dial("echo")
	for _, say := range []string{"1", "2"} {
		var answer ipc.Answer
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Converse, Message: "say " + say}, &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Tools) != 1 || answer.Tools[0].Name != "Bash" || string(answer.Tools[0].Input) != `{"command":"ls `+say+`"}` || answer.Text != say || answer.Certainty != "exact" {
			t.Errorf("%+v", answer)
		}
	}
}
