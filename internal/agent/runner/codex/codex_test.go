package codex_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"den/internal/agent/runner/codex"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
	"den/internal/testkit/runnertest"
)

func TestMain(m *testing.M) { runnertest.Main(m) }

// script is a use of the tool by which the model runs other tools from code.
func script(code string) modelstub.Reply {
	input, err := json.Marshal(code)
	if err != nil {
		panic(err) // a string is JSON
	}
	return modelstub.Use("exec", string(input))
}

func backend() runnertest.Backend {
	return runnertest.Backend{
		Driver: codex.Driver{},
		Home: func(t realcli.TB, stub *modelstub.Server) *realcli.Home {
			return realcli.Codex(t, stub, "")
		},
		Tool: "exec",
		Shell: func(command string) modelstub.Reply {
			return script(fmt.Sprintf("text((await tools.exec_command({cmd: %q})).output)", command))
		},
		Write: func(file, text string) modelstub.Reply {
			patch := "*** Begin Patch\n*** Add File: " + file + "\n+" + text + "*** End Patch\n"
			return script(fmt.Sprintf("text(await tools.apply_patch(%q))", patch))
		},
		Model: "gpt-6-sol", Thinking: "low",
		ContextFull: modelstub.Reply{Damage: modelstub.Error, Code: "context_length_exceeded"},
		Unknown:     "01a1dc92-e45d-77a0-b952-576d3d9b6845",
		EndOfTurn:   `"turn/completed"`,
		Hostile: []string{
			`{"method":"no/such","params":{"threadId":5}}`,
			`{"method":"item/completed","params":{"item":{"type":"no_such_item","id":"x"}}}`,
			`{"method":"item/started","params":"not an object"}`,
			`{"method":"turn/completed","params":{"threadId":"another","turn":{"id":"another","status":"completed"}}}`,
			`{"id":987654,"result":{}}`,
			`{"id":"hostile-%d","method":"no/such/request","params":{}}`,
		},
		TellsDir: true, Partials: true,
	}
}

func TestRecorded(t *testing.T) { runnertest.Run(t, backend()) }
func TestReal(t *testing.T)     { runnertest.RunReal(t, backend()) }
