package permission_test

import (
	"slices"
	"strings"
	"testing"

	"den/internal/agent/permission"
)

// What an agent does unasked is judged by the rules that forbid, and by nothing
// else: neither are the defaults for it, nor can a rule allow it.
func TestCheck(t *testing.T) {
	state := t.TempDir()
	b, heard := openBroker(t, state,
		permission.Rule{Outcome: permission.Deny, Path: ".env"},
		permission.Rule{Outcome: permission.Ask, Path: "notes"},
		permission.Rule{Outcome: permission.Allow, Command: "make *"},
	)
	for _, c := range []struct {
		request permission.Request
		want    permission.Outcome
	}{
		{read(".env"), permission.Deny},
		{read(dir + "/.env"), permission.Deny},
		{run("cat .env"), permission.Deny},
		{run("tail -n 3 < .ENV"), permission.Deny},
		{run("cat $x"), permission.Ask}, // it might be
		{read("notes/today"), permission.Ask},
		{read("a.go"), ""},
		{read("/etc/hosts"), ""}, // the default asks, if the agent does
		{run("rm -r x"), ""},     // as well
		{run("make all"), ""},    // nobody has to allow it
		{run("den approvals approve x"), permission.Deny},
		{permission.Request{Tool: "Task", Kind: permission.Other}, ""},
		{permission.Request{}, ""},
	} {
		if got, why := b.Check(c.request); got != c.want || (why == "") != (c.want == "") {
			t.Errorf("%+v: %q, %q, want %q", c.request, got, why, c.want)
		}
	}
	if len(heard.approvals) > 0 {
		t.Error("somebody was asked")
	}
	log := events(t, state)
	denied := slices.DeleteFunc(slices.Clone(log), func(e string) bool { return !strings.HasPrefix(e, "policy deny") })
	if len(log) != 5 || len(denied) != 5 {
		t.Errorf("audit log: %q", log)
	}
}
