package ticksmain

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/mcpserver"
	"den/internal/ticks/toolsocket"
)

// toolClient is a client of the tools' server. Nothing belongs to it: terminals
// are the tick's.
type toolClient struct{}

func (toolClient) Close(context.Context) error { return nil }

// serveTools offers the tools of a tick on stdio, by the Model Context
// Protocol, to the agent's program that started this process.
func serveTools(ctx context.Context, environ []string) error {
	socket := environment.Getter(environ)(toolsocket.Variable)
	if socket == "" {
		return fault.Hintf(fault.Errorf(fault.Usage, "%s is not set", toolsocket.Variable), "a tick starts this for its agent")
	}
	var tools []mcpserver.Tool[toolClient]
	for _, t := range toolsocket.Tools {
		tools = append(tools, mcpserver.Tool[toolClient]{
			Name: t.Name, Description: t.Description, Schema: t.Schema,
			Call: func(ctx context.Context, _ toolClient, c mcpserver.Call) (mcpserver.Answer, error) {
				return useTool(ctx, socket, t.Name, c.Arguments)
			},
		})
	}
	return mcpserver.New(mcpserver.Options[toolClient]{
		Name: "agent", Version: build.Version, Tools: tools, Log: log.New(os.Stderr, "den kernel tools: ", 0),
		Connect: func(string) (toolClient, error) { return toolClient{}, nil },
	}).Stdio(ctx, os.Stdin, os.Stdout)
}

func useTool(ctx context.Context, socket, name string, arguments json.RawMessage) (mcpserver.Answer, error) {
	a, err := toolsocket.Use(ctx, socket, build.Version, toolsocket.Call{Tool: name, Arguments: arguments})
	switch {
	case err != nil:
		return mcpserver.Answer{}, err
	case a.Failed:
		return mcpserver.Answer{}, fault.Errorf(fault.Usage, "%s", a.Text)
	}
	return mcpserver.Answer{Text: a.Text}, nil
}
