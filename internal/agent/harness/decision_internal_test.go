package harness

import "testing"

// A message decides only what it names; other messages that begin with the
// same words are for the agent.
func TestDecisionIn(t *testing.T) {
	known := func(id string) bool { return id == "k3f7a" }
	for text, want := range map[string]decision{
		"approve k3f7a":                          {id: "k3f7a", option: "approve"},
		"Approve K3F7A":                          {id: "k3f7a", option: "approve"},
		"@fox approve #k3f7a":                    {id: "k3f7a", option: "approve"},
		"@fox @owl  deny  k3f7a":                 {id: "k3f7a", option: "deny"},
		"@fox approve k3f7a always":              {id: "k3f7a", option: "approve", always: true},
		"@fox approve k3f7a --always":            {id: "k3f7a", option: "approve", always: true},
		"@fox approve k3f7a --why it is Friday":  {id: "k3f7a", option: "approve", why: "it is Friday"},
		"approve k3f7a --always --why I like it": {id: "k3f7a", option: "approve", always: true, why: "I like it"},
		"approve k3f7a --why I like it --always": {id: "k3f7a", option: "approve", always: true, why: "I like it"},
		"approve k3f7a if the tests pass":        {id: "k3f7a", option: "approve", unclear: "if the tests pass"},
		"DENY k3f7a Always":                      {id: "k3f7a", option: "deny", always: true},
		"@fox deny k3f7a because it is Friday":   {id: "k3f7a", option: "deny", why: "because it is Friday"},
		"@fox deny k3f7a --why it is Friday":     {id: "k3f7a", option: "deny", why: "it is Friday"},
		"@fox answer k3f7a the  second one":      {id: "k3f7a", option: "answer", text: "the  second one"},
		"Answer k3f7a yes":                       {id: "k3f7a", option: "answer", text: "yes"},
		"approve k3f7b":                          {id: "k3f7b", option: "approve"}, // mistyped: who sends it is told
		"@fox approve x7":                        {id: "x7", option: "approve"},
		"@fox approve K0F1A always":              {id: "k0f1a", option: "approve", always: true},
		"approve #17 --why it is Friday":         {id: "17", option: "approve", why: "it is Friday"},
		"deny k3f7ab":                            {id: "k3f7ab", option: "deny"},
		"deny x7.":                               {id: "x7", option: "deny"},
		"approve k3f7a!":                         {id: "k3f7a", option: "approve"},
		"@fox deny h2 upgrades in nginx.conf":    {},
		"@fox approve v2 of the plan":            {},
		"@fox approve ./x7":                      {},
		"@fox approve it":                        {},
		"@fox approve it always":                 {},
		"@fox approve the pull request":          {},
		"@fox approve k3f7b, the pull request":   {},
		"@fox deny green":                        {},
		"@fox approve":                           {},
		"@fox answer":                            {},
		"@fox answer k3f7a":                      {},
		"@fox answer this question, please":      {},
		"@fox please approve k3f7a":              {},
		"@fox":                                   {},
		"":                                       {},
	} {
		got, ok := decisionIn(text, known)
		if ok != (want != decision{}) || ok && got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
}
