package workspace

import (
	"fmt"
	"slices"
)

// costless are the backends whose agents do not tell what they cost.
var costless = []string{"codex", "copilot", "script"}

// unknownCosts warns of limits that are never reached.
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
