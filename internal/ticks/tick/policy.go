package tick

import (
	"context"
	"os"
	"path/filepath"

	"den/internal/agent/permission"
	"den/internal/ticks/toolsocket"
)

// serverName is that of the tools, as models see it: mcp__agent__login.
const serverName = "agent"

// policy decides what the agent may do by itself: its own tools, and files in
// the data repository. Nobody is there to be asked, so what would be asked for
// is denied.
func (t *tick) policy() (func(context.Context, permission.Request) permission.Decision, error) {
	rules := []permission.Rule{
		{Outcome: permission.Allow, Tool: "Skill"},
		{Outcome: permission.Deny, Kind: permission.Execute, Why: "commands are typed into a terminal"},
	}
	for _, name := range toolNames() {
		rules = append(rules, permission.Rule{Outcome: permission.Allow, Tool: name})
	}
	p, err := permission.NewPolicy(permission.Settings{
		Dir: t.o.Repo.Path(), Home: t.o.Getenv("HOME"), Protected: []string{t.o.Dir.Path}, Rules: rules,
	})
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, r permission.Request) permission.Decision {
		outcome, why := p.Decide(r)
		if outcome == permission.Allow {
			return permission.Decision{Allow: true}
		}
		t.o.Log.Info("denied", "tool", r.Tool, "why", why)
		return permission.Decision{Reason: why + "; nobody can be asked within a tick"}
	}, nil
}

// toolNames are what agents call the tick's tools when they ask for permission:
// each vendor joins the names of server and tool in its own way, and codex names
// the server alone.
func toolNames() []string {
	names := []string{"mcp__" + serverName, "mcp__" + serverName + "__*"}
	for _, t := range toolsocket.Tools {
		for _, join := range []string{"_", "-", "__", "."} {
			names = append(names, serverName+join+t.Name)
		}
		names = append(names, "mcp_"+serverName+"_"+t.Name, t.Name+" ("+serverName+" MCP Server)*")
	}
	return names
}

// mindEnv is what the agent's program has in its environment.
func (t *tick) mindEnv() map[string]string {
	return map[string]string{
		"DATA_DIR": t.o.Repo.Path(), toolsocket.Variable: t.tools.socket,
		"PATH": filepath.Dir(t.o.Den) + string(os.PathListSeparator) + t.o.Getenv("PATH"),
	}
}
