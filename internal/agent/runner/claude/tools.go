package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
)

// plainTools are those of the agent's own whose effects are known. Where some
// kinds must not be had, it gets no others: new ones come with every version,
// and many run commands in the end, such as those that start other agents.
var plainTools = map[permission.Kind][]string{
	permission.Read:     {"Read", "Glob", "Grep"},
	permission.Edit:     {"Edit", "Write"},
	permission.Think:    {"TodoWrite"},
	permission.Other:    {"Skill"},
	permission.Execute:  {"Bash", "BashOutput", "KillShell"},
	permission.Fetch:    {"WebFetch", "WebSearch"},
	permission.Question: {askUserQuestion},
}

// toolFlags say which tools the agent has and has not.
func toolFlags(o runner.Options) ([]string, error) {
	var flags []string
	if len(o.Servers) > 0 {
		config, err := serverConfig(o.Servers)
		if err != nil {
			return nil, err
		}
		flags = append(flags, "--strict-mcp-config", "--mcp-config="+config)
	}
	if len(o.Without) > 0 {
		var tools []string
		for kind, names := range plainTools {
			if !slices.Contains(o.Without, kind) {
				tools = append(tools, names...)
			}
		}
		slices.Sort(tools)
		flags = append(flags, "--tools="+strings.Join(tools, ","))
	}
	return flags, nil
}

type toolServer struct {
	Type    string            `json:"type"` // "stdio"
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// AlwaysLoad has the model know the tools from the start. Else it has to
	// search for them.
	AlwaysLoad bool `json:"alwaysLoad"`
}

func serverConfig(servers []runner.ToolServer) (string, error) {
	named := map[string]toolServer{}
	for _, s := range servers {
		named[s.Name] = toolServer{Type: "stdio", Command: s.Command[0], Args: s.Command[1:], Env: s.Env, AlwaysLoad: true}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": named})
	if err != nil {
		return "", fmt.Errorf("start claude: describe the tools: %w", err)
	}
	return string(config), nil
}
