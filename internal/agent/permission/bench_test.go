package permission_test

import (
	"strings"
	"testing"

	"den/internal/agent/permission"
)

// BenchmarkDecide is the time that an agent waits for a decision of its policy.
func BenchmarkDecide(b *testing.B) {
	rules := []permission.Rule{
		allowCommand("go test *"), allowCommand("git *"), denyCommand("git push *"), {Outcome: permission.Deny, Path: "**/.env"}, {Outcome: permission.Ask, Kind: permission.Fetch},
	}
	for name, line := range map[string]string{
		"short":  "git status",
		"usual":  `cd src && go test ./... 2>&1 | grep -v "no test files" | head -n 50`,
		"commit": "git commit -m \"$(cat <<'EOF'\nsrc: mend a thing\n\nIt was broken.\nEOF\n)\"",
		"half":   strings.Repeat("cat src/a.go | grep -n 'func.*x' | wc -l; ", 150), // of the next: to see how the time grows
		"words":  "tool " + strings.Repeat("a.txt ", 2400),
		"long":   strings.Repeat("cat src/a.go | grep -n 'func.*x' | wc -l; ", 300),
	} {
		for setting, p := range map[string]*permission.Policy{"defaults": newPolicy(b), "rules": newPolicy(b, rules...)} {
			b.Run(name+"/"+setting, func(b *testing.B) {
				r := runIn(dir, line)
				for b.Loop() {
					p.Decide(r)
				}
			})
		}
	}
}
