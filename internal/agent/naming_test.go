package agent_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/place/provider"
)

func names(t *testing.T, template string) *agent.Names {
	t.Helper()
	n, err := agent.NewNames(template)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSessionNames(t *testing.T) {
	for _, c := range []struct{ template, workspace, agent, want string }{
		{"", "city", "worker", "den-city-worker"},
		{"", "city", "hello-world/worker", "den-city-hello-world--worker"},
		{"", "city", "worker-1", "den-city-worker-1"},
		{"gc-{{.City}}-{{.Agent}}", "city", "a/b", "gc-city-a--b"},
		{"{{.City}}_{{.Dir}}_{{.Name}}", "city", "a/b", "city_a_b"},
		{"{{.Workspace}}.{{.Agent}}", "my-city", "w", "my-city.w"},
	} {
		if got := names(t, c.template).Session(c.workspace, c.agent); got != c.want {
			t.Errorf("%q for %s, %s = %s, want %s", c.template, c.workspace, c.agent, got, c.want)
		}
	}
}

// What the original confuses.
func TestLossyNamesGetAHash(t *testing.T) {
	n := names(t, "")
	for _, pair := range [][4]string{
		{"c", "a/b", "c", "a--b"},
		{"tb", "c-w1", "tb-c", "w1"},
		{"c", "a-/b", "c", "a/-b"},
		{"c", "é", "c", "è"},
		{"c", strings.Repeat("x", 150), "c", strings.Repeat("x", 151)},
	} {
		a, b := n.Session(pair[0], pair[1]), n.Session(pair[2], pair[3])
		if a == b {
			t.Errorf("%v: both %s", pair, a)
		}
	}
	x := names(t, "x-{{.Agent}}")
	if x.Session("one", "w") == x.Session("two", "w") {
		t.Error("a template without the workspace joins two workspaces")
	}
}

func TestBadTemplateWarnsAndFallsBack(t *testing.T) {
	for _, bad := range []string{"{{", "{{.Nope}}", "{{index .Name 99}}", `{{template "x"}}`} {
		n, err := agent.NewNames(bad)
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", bad, err)
		}
		if got := n.Session("c", "w"); got != "den-c-w" {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// Distinct pairs have distinct names, whatever is in them, and all are names
// that providers take.
func TestDistinctPairsHaveDistinctNames(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "-", "--", "/", "_", ".", "x0123456789", "-x0123456789", "é", " ", "\x00", "A"}
	word := func() string {
		var b strings.Builder
		for range random.IntN(5) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for _, template := range []string{"", "{{.City}}{{.Agent}}", "x-{{.Agent}}", "{{.Agent}}-{{.City}}", "{{.City}}-{{.Dir}}-{{.Name}}", "{{.Name}}.{{.Dir}}.{{.City}}-s", "{{if .Dir}}d{{end}}-{{.Agent}}-{{.City}}", "same"} {
		n := names(t, template)
		seen := map[string]string{}
		for range 8000 {
			w, a := word(), word()
			pair := fmt.Sprintf("%q %q", w, a)
			name := n.Session(w, a)
			if other, ok := seen[name]; ok && other != pair {
				t.Fatalf("%q: %s and %s are both %s", template, other, pair, name)
			}
			seen[name] = pair
			if err := provider.CheckName(name); err != nil || len(name) > 100 {
				t.Fatalf("%s: %s: %v", pair, name, err)
			}
		}
	}
}
