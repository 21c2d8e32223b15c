package daemon

import "testing"

// An agent whose program lives in a container is shown as one, and is neither a
// session of this machine nor a terminal in a container.
func TestPlaceOfBoxedAgent(t *testing.T) {
	boxed := member{kind: "native", box: "container"}
	if got := boxed.Provider(); got != "container" {
		t.Errorf("it is shown in %q", got)
	}
	for _, kind := range []string{"native", "container"} {
		m := member{kind: kind}
		if m.Provider() != kind || m.Place() == boxed.Place() {
			t.Errorf("one in %s: provider %q, place %q; with a box: %q", kind, m.Provider(), m.Place(), boxed.Place())
		}
	}
}
