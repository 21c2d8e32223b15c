package mcp

import (
	"den/internal/base/mcpserver"
	"den/internal/session/terminals"
)

// instructions are for the model, beside the tools.
const instructions = "Real terminals whose state lasts from call to call. run knows when a command is done, fails or asks. " +
	"Calls without session use your own shell. For REPLs, ssh, servers and full-screen programs open a terminal of their own."

type tool = mcpserver.Tool[*terminals.Client]

// tools is the list for every client. Every word of it is read by a model in
// every conversation: a test bounds its size.
func tools() []tool {
	return []tool{
		{
			Name: "run",
			Description: "Run a shell command, or code in the REPL of a terminal, and wait until it is done. Returns output and exit code. " +
				"Directory and variables persist. Only one at a time in a terminal. status asking: the program asks something, use answer. status timeout: it runs on, use wait. " +
				"Long output is cut; output_file has all of it.",
			Schema: `{"type":"object","properties":{"code":{"type":"string"},` + sessionProperty +
				`,` + timeoutProperty + `},"required":["code"]}`,
			Call: run,
		},
		{
			Name:        "answer",
			Description: "Answer what running code asks, passwords too: types text and Enter, or presses keys. Then waits and returns like run.",
			Schema:      `{"type":"object","properties":{"text":{"type":"string"},` + keysProperty + `,` + sessionProperty + `,` + timeoutProperty + `}}`,
			Call:        answer,
		},
		{
			Name:        "open",
			Description: "Open another terminal. Returns its name, which other tools take as session.",
			Schema: `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"description":"program and arguments, default a shell"},` +
				`"name":{"type":"string"},"dir":{"type":"string","description":"where it starts"},"cols":{"type":"integer"},"rows":{"type":"integer"},` +
				`"keep":{"type":"boolean","description":"leave it running when you disconnect"}}}`,
			Call: open,
		},
		{
			Name:        "type",
			Description: "Type text without waiting. Returns seq: pass it to wait as after.",
			Schema:      `{"type":"object","properties":{"text":{"type":"string"},"enter":{"type":"boolean"},` + sessionProperty + `},"required":["text"]}`,
			Call:        typeText,
		},
		{
			Name:        "keys",
			Description: "Press keys. Returns seq like type.",
			Schema:      `{"type":"object","properties":{` + keysProperty + `,` + sessionProperty + `},"required":["keys"]}`,
			Call:        pressKeys,
		},
		{
			Name: "wait",
			Description: "Without conditions: wait for running code like run. Else wait until the screen meets all of them: " +
				"it shows text, matches regex, does not show gone, has not changed for stable seconds; the program is ready for input, or did exit.",
			Schema: `{"type":"object","properties":{"text":{"type":"string"},"regex":{"type":"string"},"gone":{"type":"string"},"stable":{"type":"number"},` +
				`"ready":{"type":"boolean"},"exit":{"type":"boolean"},"after":{"type":"integer","description":"a seq: only later output counts"},` + sessionProperty + `,` + timeoutProperty + `}}`,
			ReadOnly: true,
			Call:     wait,
		},
		{
			Name:        "snapshot",
			Description: "The screen as text, with cursor and size, now or in the past.",
			Schema:      `{"type":"object","properties":{` + sessionProperty + `,` + agoProperty + `}}`,
			ReadOnly:    true,
			Call:        snapshot,
		},
		{
			Name:        "screenshot",
			Description: "The screen as an image, where colours or layout matter.",
			Schema:      `{"type":"object","properties":{` + sessionProperty + `,` + agoProperty + `}}`,
			ReadOnly:    true,
			Call:        screenshot,
		},
		{
			Name:        "history",
			Description: "The last lines, with those that scrolled away.",
			Schema:      `{"type":"object","properties":{` + sessionProperty + `,"lines":{"type":"integer","description":"default 100"}}}`,
			ReadOnly:    true,
			Call:        history,
		},
		{
			Name:        "list",
			Description: "List terminals: yours (mine) and those of others, which you can look at.",
			Schema:      `{"type":"object","properties":{}}`,
			ReadOnly:    true,
			Call:        list,
		},
		{
			Name:        "close",
			Description: "End a terminal and all its processes.",
			Schema:      `{"type":"object","properties":{"session":{"type":"string"}},"required":["session"]}`,
			Call:        closeTerminal,
		},
	}
}

// Properties that several tools have.
const (
	sessionProperty = `"session":{"type":"string","description":"a terminal's name, default your shell"}`
	timeoutProperty = `"timeout":{"type":"number","description":"seconds, default 30"}`
	agoProperty     = `"ago":{"type":"number","description":"seconds, default now"}`
	keysProperty    = `"keys":{"type":"array","items":{"type":"string"},"description":"such as y, Enter, C-c, Esc, Up, F5, M-x, Down*3, Click:ROW,COL"}`
)
