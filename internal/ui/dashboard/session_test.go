package dashboard_test

import (
	"testing"

	"den/internal/ui/dashboard"
)

// Agents' sessions are known by their names, those in pods too.
func TestAgentSession(t *testing.T) {
	for name, want := range map[string]string{
		"w0123456789abcdef.den-team-coder":                        "den-team-coder",
		"w0123456789abcdef-kubernetes-x05c526ffbb.den-team-coder": "den-team-coder",
		"w0123456789abcdef":                                       "",
		"work":                                                    "",
		"a.w0123456789abcdef.x":                                   "",
	} {
		short, is := dashboard.AgentSession(name)
		if is != (want != "") || is && short != want || !is && short != name {
			t.Errorf("%s is %q, %v", name, short, is)
		}
	}
}
