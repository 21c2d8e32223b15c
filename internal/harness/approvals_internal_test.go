package harness

import "testing"

// A message decides only what it names; other messages that begin with the
// same words are for the agent.
func TestDecisionIn(t *testing.T) {
	known := func(id string) bool { return id == "k3f" }
	for text, want := range map[string]decision{
		"approve k3f":                        {id: "k3f", option: "approve"},
		"@fox approve k3f":                   {id: "k3f", option: "approve"},
		"@fox @owl  deny  k3f":               {id: "k3f", option: "deny"},
		"@fox approve k3f always":            {id: "k3f", option: "approve", always: true},
		"@fox answer k3f the  second one":    {id: "k3f", option: "answer", text: "the  second one"},
		"answer k3f yes":                     {id: "k3f", option: "answer", text: "yes"},
		"@fox approve the pull request":      {},
		"@fox approve":                       {},
		"@fox answer":                        {},
		"@fox answer k3f":                    {},
		"@fox answer this question, please":  {},
		"@fox please approve k3f":            {},
		"@fox":                               {},
		"":                                   {},
		"@fox deny k3f because it is Friday": {},
	} {
		got, ok := decisionIn(text, known)
		if ok != (want != decision{}) || ok && got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
}
