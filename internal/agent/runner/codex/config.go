package codex

import (
	"math"
	"slices"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
)

// toolTimeout is how long a tool of den's may take, in seconds. codex' own
// limit is as long as den's longest wait.
const toolTimeout = 300

// configOf is what the options change of the user's configuration, nil for
// nothing.
func configOf(o runner.Options) map[string]any {
	config := map[string]any{}
	if len(o.Servers) > 0 {
		servers := map[string]any{}
		for _, s := range o.Servers {
			servers[s.Name] = map[string]any{"command": s.Command[0], "args": s.Command[1:], "env": s.Env, "tool_timeout_sec": toolTimeout, "required": true}
		}
		config["mcp_servers"] = servers
	}
	if slices.Contains(o.Without, permission.Execute) {
		config["features"] = map[string]bool{"shell_tool": false, "unified_exec": false}
	}
	if slices.Contains(o.Without, permission.Fetch) {
		config["web_search"] = "disabled"
	}
	if o.KeepWhole {
		config["model_auto_compact_token_limit"] = math.MaxInt32
	}
	if len(config) == 0 {
		return nil
	}
	return config
}
