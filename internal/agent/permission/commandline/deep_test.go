package commandline_test

import (
	"strings"
	"testing"

	"den/internal/agent/permission/commandline"
)

// A line that nests as deep as its length allows is read: it neither ends the
// process nor keeps it busy for minutes, as some did.
func TestDeepLines(t *testing.T) {
	const length = 16<<10 - 1
	for _, unit := range []string{"$(", "(", "`", `"$(`, "${x:-", "$((", "{ ", "if ", "((", "<(", "case x in x) ", "! ", "f() ", "eval ", "env ", "{a,", "a{b,c}"} {
		n := length / len(unit)
		if got := commandline.Parse(strings.Repeat(unit, n)); len(got.Problems) == 0 && unit != "a{b,c}" && unit != "! " {
			t.Errorf("%q: no problem", unit)
		}
	}
	commandline.Parse(strings.Repeat("$((", length/5) + strings.Repeat("))", length/5))
	if got := commandline.Parse(strings.Repeat("(", length/2) + "a" + strings.Repeat(")", length/2)); len(got.Problems) == 0 {
		t.Error("parentheses: no problem")
	}
}
