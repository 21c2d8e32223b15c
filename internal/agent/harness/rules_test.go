package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/permission"
)

// A rule that denies a file keeps an agent from reading it that would not have
// asked, and the audit log has it.
func TestRulesHoldForWhatIsNotAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, text := range map[string]string{".env": "the word is plum", "notes": "the word is pear"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := w.startClaude("reader", "obedient", func(o *harness.Options) {
		o.Config.Permissions = []permission.Rule{{Outcome: permission.Deny, Path: ".env"}}
	})
	if got := w.converse("reader", "read notes"); got != "the word is pear" {
		t.Errorf("%q", got)
	}
	if got := w.converse("reader", "read .env"); !strings.HasPrefix(got, "deny: denied by policy: read .env: rule deny path '.env'") {
		t.Errorf("%q", got)
	}
	entries, _, err := permission.ReadAudit(filepath.Join(a.state, "permission"))
	if err != nil || len(entries) != 1 || entries[0].Outcome != permission.Deny || entries[0].Rule != "deny path '.env'" {
		t.Errorf("%+v, %v", entries, err)
	}
}
