package workspace

import (
	"maps"
	"slices"
	"strings"
)

// Runs lists every command that the agent's start, life and end may run on this
// machine, for somebody who decides whether to trust the workspace.
func (a *Agent) Runs() []string {
	runs := []string{strings.Join(a.Argv(), " ")}
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
