package harness

import (
	"testing"

	"den/internal/runner"
)

// Five refusals of a vendor in a row are not five mistakes of the agent.
func TestVendorsFailuresAreNotTheAgents(t *testing.T) {
	for class, own := range map[runner.Class]bool{
		runner.Auth: false, runner.Billing: false, runner.Quota: false, runner.Overload: false, runner.NoSession: false,
		runner.Context: true, runner.Bug: true, runner.Gone: true, runner.Silent: true,
	} {
		if got := ownFault(&runner.Failure{Class: class}); (got != nil) != own {
			t.Errorf("%s: %v", class, got)
		}
	}
}
