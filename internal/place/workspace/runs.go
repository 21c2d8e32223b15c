package workspace

import (
	"maps"
	"slices"
	"strings"
)

// A Grant is a command that a workspace runs, or a rule that lets an agent do
// something without asking.
type Grant struct {
	Agent, Command, Rule string // one of the last two
}

func (g Grant) String() string { return g.Agent + ": " + g.Command + g.Rule }

// Brief returns String without the arguments of a command, which may hold secrets.
func (g Grant) Brief() string {
	if name, _, more := strings.Cut(g.Command, " "); more {
		g.Command = name + " …"
	}
	return g.String()
}

// Grants lists what the workspace runs, and what its rules allow.
func (w *Workspace) Grants() []Grant {
	var all []Grant
	for i := range w.Agents {
		a := &w.Agents[i]
		for _, command := range a.Runs() {
			all = append(all, Grant{Agent: a.Name, Command: command})
		}
		for _, rule := range a.Channel.Permissions {
			if rule.Outcome == "allow" {
				all = append(all, Grant{Agent: a.Name, Rule: rule.String()})
			}
		}
	}
	if command := w.Supervisor.Command; len(command) > 0 {
		all = append(all, Grant{Agent: "supervisor", Command: strings.Join(command, " ")})
	}
	return all
}

// Runs lists every command that the agent may run on this machine from its start to
// its end, so that a person can decide whether to trust the workspace.
func (a *Agent) Runs() []string {
	runs := []string{strings.Join(a.Argv(), " ")}
	if command := a.Channel.ACPCommand; len(command) > 0 && !slices.Equal(command, a.StartCommand) {
		runs = append(runs, strings.Join(command, " "))
	}
	runs = append(runs, a.Hints.PreStart...)
	runs = append(runs, a.Hints.SessionSetup...)
	if a.Hints.SessionSetupScript != "" {
		runs = append(runs, a.Hints.SessionSetupScript)
	}
	if a.Pool != nil && a.Pool.Check != "" {
		runs = append(runs, a.Pool.Check)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Env.Secrets)) {
		if secret := a.Env.Secrets[key]; len(secret.Command) > 0 {
			runs = append(runs, strings.Join(secret.Command, " "))
		}
	}
	return runs
}
