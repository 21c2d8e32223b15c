package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A limit on what nobody tells is warned of, where it stands.
func TestCostLimitsOfAgentsWithoutCosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "den.toml")
	text := `
[[agents]]
name = "a"
agent = "codex"
budget = { cost_per_day = 5.0, tokens_per_day = 1000 }

[[agents]]
name = "b"
agent = "claude"
budget = { cost_per_day = 5.0 }
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(load(t, file).Warnings, func(w string) bool { return !strings.Contains(w, "budget") })
	if want := []string{"den.toml:5: 'budget.cost_per_day' has no effect: codex does not tell what it costs; limit tokens or turns"}; !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
}
