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
	}{
		{gitpush.Result{Status: gitpush.Skipped, Detail: "it has no remote"}, false, ""},
		{gitpush.Result{Status: gitpush.Skipped, Detail: "no remote is registered"}, true, "git push: skipped: no remote is registered"},
		{gitpush.Result{Status: gitpush.Pushed, Detail: "main"}, false, "git push: pushed: main"},
	} {
		if got := pushTold(test.r, test.confined); got != test.want {
			t.Errorf("%v, confined %v: %q, want %q", test.r, test.confined, got, test.want)
		}
	}
}
