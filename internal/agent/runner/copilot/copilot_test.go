package copilot_test

import (
	"encoding/json"
	"testing"

	"den/internal/agent/runner/copilot"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
	"den/internal/testkit/runnertest"
)

func TestMain(m *testing.M) { runnertest.Main(m) }

func use(tool string, input map[string]string) modelstub.Reply {
	text, err := json.Marshal(input)
	if err != nil {
		panic(err) // strings are JSON
	}
	return modelstub.Use(tool, string(text))
}

// recorded is the environment of the recordings.
var recorded = map[string]string{
	"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1", "COPILOT_PROVIDER_API_KEY": "stub", "COPILOT_MODEL": "stub-model",
}

func backend() runnertest.Backend {
	getenv := func(name string) string { return recorded[name] }
	return runnertest.Backend{
		Driver: copilot.Driver{Getenv: func(name string) string { return getenv(name) }},
		Home: func(t realcli.TB, stub *modelstub.Server) *realcli.Home {
			home := realcli.Copilot(t, stub)
			getenv = home.Getenv
			return home
		},
		Tool: "bash",
		Shell: func(command string) modelstub.Reply {
			return use("bash", map[string]string{"command": command, "description": "make it"})
		},
		Write: func(file, text string) modelstub.Reply {
			return use("create", map[string]string{"path": file, "file_text": text})
		},
		Read: func(file string) modelstub.Reply {
			return use("view", map[string]string{"path": file})
		},
		Model: "other-model", Thinking: "low",
		ContextFull: modelstub.Fail(413),
		Unknown:     "00000000-0000-4000-8000-000000000000",
		EndOfTurn:   `"session.idle"`,
		Hostile: []string{
			`{"jsonrpc":"2.0","method":"no.such","params":{"sessionId":5}}`,
			`{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":5,"event":"none"}}`,
			`{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":"another","event":{"type":"session.idle","data":{"aborted":true}}}}`,
			`{"jsonrpc":"2.0","method":"session.event","params":"not an object"}`,
			`{"jsonrpc":"2.0","id":987654,"result":{}}`,
			`{"jsonrpc":"2.0","id":"hostile-%d","method":"no.such.request","params":{}}`,
		},
		Noise: []string{
			`"method":"session.lifecycle"`, `"method":"host.event"`, `"type":"model.`, `"type":"session.background_tasks_changed"`,
			`"type":"session.usage_info"`, `"type":"assistant.streaming_delta"`, `"type":"system.message"`, `"type":"session.skills_loaded"`,
			`"type":"session.tools_updated"`, `"type":"pending_messages.modified"`, `"type":"session.mcp_servers_loaded"`,
		},
		Reasons:  true,
		Partials: true,
		Framed:   true,
	}
}

func TestRecorded(t *testing.T) { runnertest.Run(t, backend()) }
func TestReal(t *testing.T)     { runnertest.RunReal(t, backend()) }
