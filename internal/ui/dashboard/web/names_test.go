package web_test

import (
	"strings"
	"testing"
)

// Screen readers are told what the screen is, and can read its text; tables show
// no variables that a command sets.
func TestNamesForThoseWhoDoNotSee(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "--cols", "60", "--rows", "12", "env", "TOKEN=hush", "bash")
	w.Do("run", "sh", "echo read me aloud")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.until(text + `.includes("read me aloud")`)
	p.until(`document.getElementById("screen").getAttribute("aria-label") === "Screen of sh, 60 columns, 12 rows, live"`)
	p.press("Home")
	p.until(`/^Screen of sh, 60 columns, 12 rows, at \d+:\d+:\d+$/.test(document.getElementById("screen").getAttribute("aria-label"))`)
	p.press("End")
	tree := p.accessible()
	for _, want := range []string{"region: Screen of sh, 60 columns, 12 rows, live", "document: Text on the screen", "read me aloud", "slider: Moment", "link: sh, running, ready, bash"} {
		if !strings.Contains(tree, want) {
			t.Errorf("a screen reader does not find %q in\n%s", want, tree)
		}
	}
	if strings.Contains(tree, "hush") {
		t.Error("a variable is shown")
	}
}

// accessible is what the browser tells a screen reader: roles with their names.
func (p *tab) accessible() string {
	p.t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name *value
		}
	}
	p.must(p.page.Call(within(p.t), "Accessibility.getFullAXTree", nil, &tree))
	var out strings.Builder
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil || n.Name == nil {
			continue
		}
		name, _ := n.Name.Value.(string)
		role, _ := n.Role.Value.(string)
		out.WriteString(role + ": " + name + "\n")
	}
	return out.String()
}
