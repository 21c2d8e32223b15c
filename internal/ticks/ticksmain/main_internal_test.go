package ticksmain

import (
	"testing"

	"den/internal/ticks/gitpush"
)

// Who has a remote and is not pushed to it is told why.
func TestPushTold(t *testing.T) {
	for _, test := range []struct {
		r        gitpush.Result
		confined bool
		want     string
		problem  bool
	}{
		{gitpush.Result{Status: gitpush.Skipped, Detail: "it has no remote"}, false, "", false},
		{gitpush.Result{Status: gitpush.Skipped, Detail: "no remote is registered"}, true, "git push: skipped: no remote is registered", false},
		{gitpush.Result{Status: gitpush.Pushed, Detail: "main"}, false, "git push: pushed: main", false},
		{gitpush.Result{Status: gitpush.Failed, Detail: "it is away"}, false, "git push: failed: it is away", true},
		{gitpush.Result{Status: gitpush.Refused, Detail: "2 addresses"}, true, "git push: refused: 2 addresses", true},
	} {
		if got, problem := pushTold(test.r, test.confined); got != test.want || problem != test.problem {
			t.Errorf("%v, confined %v: %q, a problem %v, want %q", test.r, test.confined, got, problem, test.want)
		}
	}
}
