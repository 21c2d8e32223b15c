package workspace

import (
	"fmt"
	"maps"
	"slices"
)

// noPolls says why the keys for polling channels have no effect.
const noPolls = "agents get mentions and direct messages at once, and nothing else; they read the rest with 'den channel read'"

// The keys that den accepts and does nothing with, and why: so that one file
// can serve all releases, and a file of the harness specification loads as it
// is. A row goes when its part comes.
func noEffectTop() map[string]string {
	return map[string]string{
		"attention":     noPolls,
		"poll_interval": noPolls,
		"presence":      "'den ps' tells what agents do",
		"telemetry":     "den sends none",
	}
}

func noEffectAgent() map[string]string {
	return map[string]string{
		"attention":       noPolls,
		"icon":            "chat servers have no icons",
		"archived_at":     "it is a note",
		"archived_reason": "it is a note",
	}
}

// notTaken are keys of the harness specification's tools that den refuses, and
// what to write instead.
func notTaken() map[string]string {
	return map[string]string{
		"suffix":                "write the whole name: 'nick: SERVER-SUFFIX'",
		"token_budget":          "say for how long: budget.tokens_per_hour or budget.tokens_per_day",
		"token_budget_warn_pct": "den warns at 80 % of a budget",
		"base_url":              "set it in 'env', by the variable that the agent's program reads",
	}
}

func keysOf(reasons map[string]string) []string { return slices.Sorted(maps.Keys(reasons)) }

// unread warns of what a file asks for and will not get.
func unread(tree *node) []string {
	var warnings []string
	warn := func(n *node, key, why string) {
		if n != nil && n.text != "0" { // what is switched off is not asked for
			warnings = append(warnings, fmt.Sprintf("%s: '%s' has no effect: %s", n.origin, key, why))
		}
	}
	for _, key := range keysOf(noEffectTop()) {
		warn(tree.get(key), key, noEffectTop()[key])
	}
	for _, agent := range orEmptyList(tree.get("agents")).items {
		for _, key := range keysOf(noEffectAgent()) {
			warn(agent.get(key), key, noEffectAgent()[key])
		}
	}
	for _, key := range keysOf(noEffectAgent()) {
		warn(tree.get("defaults").get(key), "defaults."+key, noEffectAgent()[key])
	}
	return warnings
}

// costless are the backends whose agents do not tell what they cost.
var costless = []string{"codex", "copilot", "script"}

// unknownCosts warns of limits that an agent can never reach.
func unknownCosts(a *Agent) []string {
	if !slices.Contains(costless, a.Channel.Backend) {
		return nil
	}
	var warnings []string
	for _, limit := range []struct {
		key   string
		value float64
	}{{"budget.cost_per_hour", a.Channel.Budget.CostPerHour}, {"budget.cost_per_day", a.Channel.Budget.CostPerDay}} {
		if limit.value > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: '%s' has no effect: %s does not tell what it costs; limit tokens or turns", a.at(limit.key), limit.key, a.Channel.Backend))
		}
	}
	return warnings
}
