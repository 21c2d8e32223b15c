package workspace

import (
	"maps"
	"slices"
	"strings"
)

// Grants lists what the workspace runs, and what its rules let agents do without
// asking, a line for each.
func (w *Workspace) Grants() []string {
	var all []string
	for i := range w.Agents {
		a := &w.Agents[i]
		for _, command := range a.Runs() {
			all = append(all, a.Name+": "+command)
		}
		for _, rule := range a.Channel.Permissions {
			if rule.Outcome == "allow" {
				all = append(all, a.Name+": "+rule.String())
			}
		}
	}
	if command := w.Supervisor.Command; len(command) > 0 {
		all = append(all, "supervisor: "+strings.Join(command, " "))
	}
	return all
}

// Runs lists every command that the agent's start, life and end may run on this
// machine, for somebody who decides whether to trust the workspace.
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
