package harnessmain

import (
	"slices"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/drivers"
	"den/internal/agent/runner/local"
	"den/internal/place/sandbox"
)

// den, which is in no sandbox, reads and writes no files for an agent that is,
// and runs its commands where the agent is. acp refuses what was not offered.
func TestDenDoesNothingOutsideForAnAgentInASandbox(t *testing.T) {
	wrap := func(argv []string) []string { return slices.Concat([]string{"in"}, argv) }
	for _, sandboxed := range []bool{true, false} {
		c, spawn := harness.Config{Agent: "a"}, local.Spawner{Mark: "m"}
		if sandboxed {
			c.Sandbox, spawn.Wrap = &sandbox.Policy{Agent: "a"}, wrap
		}
		d, err := withTerminals(t.Context(), drivers.All["acp"], c, spawn, []string{"DEN_HOME=" + t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if files := d.(acp.Driver).Files; files == sandboxed {
			t.Errorf("sandbox %v: files are offered: %v", sandboxed, files)
		}
	}
}
