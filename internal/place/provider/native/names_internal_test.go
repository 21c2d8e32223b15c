package native

import (
	"slices"
	"strings"
	"testing"

	"den/internal/ui/dashboard"

	"den/internal/base/ident"
)

// TestRefs: every owner and name has a session name of its own that den takes,
// and one that says whose it is.
func TestRefs(t *testing.T) {
	owners := []string{"city", "city.b", "city-b", "a", "b.c", "größe", "-", ".", "a/b", "a:b", strings.Repeat("o", 200), strings.Repeat("o", 199)}
	names := []string{"w-1", "w-10", "a", "a.b", "a:b", "a/b", "a-b", "a--b", ".", "..", "-a", ".a", "b.c", "größe", strings.Repeat("n", 200), strings.Repeat("n", 199)}
	for _, owner := range slices.Clone(owners) { // as if they were made to meet
		owners = append(owners, ownerTag(owner))
	}
	for _, name := range slices.Clone(names) {
		names = append(names, strings.TrimPrefix((&Provider{tag: "x"}).ref(name), "x."))
	}
	type of struct{ owner, name string }
	seen := map[string]of{}
	tags := map[string]string{}
	for _, owner := range owners {
		tag := ownerTag(owner)
		if was, ok := tags[tag]; ok && was != owner {
			t.Errorf("owners %q and %q are both %q", was, owner, tag)
		}
		tags[tag] = owner
		p := &Provider{tag: tag}
		for _, name := range names {
			ref := p.ref(name)
			if err := ident.Check("session", ref); err != nil {
				t.Errorf("ref of %q: %v", name, err)
			}
			if ident.IsID(ref) {
				t.Errorf("ref %q of %q looks like an id", ref, name)
			}
			if got, _, _ := strings.Cut(ref, "."); got != tag {
				t.Errorf("ref %q does not begin with %q", ref, tag)
			}
			if was, ok := seen[ref]; ok && was != (of{owner, name}) {
				t.Errorf("%q and %q are both %q", was, of{owner, name}, ref)
			}
			seen[ref] = of{owner, name}
		}
	}
	if got := (&Provider{tag: ownerTag("city")}).ref("w-1"); got != "city.w-1" {
		t.Errorf("a plain name is %q", got)
	}
}

// Dashboards know the sessions of agents by their names, whatever keeps them.
func TestDashboardsKnowAgents(t *testing.T) {
	for _, owner := range []string{"w0123456789abcdef", "w0123456789abcdef@kubernetes"} {
		p := &Provider{tag: ownerTag(owner)}
		if short, is := dashboard.AgentSession(p.ref("den-team-coder")); !is || short != "den-team-coder" {
			t.Errorf("%s: %s is %q, %v", owner, p.ref("den-team-coder"), short, is)
		}
	}
}
