package cli

import (
	"strings"
	"testing"
)

// A long value leaves the other lines as they are.
func TestExplainedKeepsItsColumns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", explainedWidth+1)
	table := explained{{"a", `"é"`, "den.toml"}, {"start_command", long, "preset"}, {"b", `"two"`, ""}}
	var out strings.Builder
	table.print(&out)
	want := "a              \"é\"    den.toml\n" +
		"start_command  " + long + "  preset\n" +
		"b              \"two\"\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
