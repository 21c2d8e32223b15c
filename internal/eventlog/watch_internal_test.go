package eventlog

import (
	"context"
	"testing"
)

// TestWatchWithoutNotices: where the system gives no notices, a look now and
// then has to do.
func TestWatchWithoutNotices(t *testing.T) {
	w := newWatch(t.TempDir() + "/none")
	defer w.close()
	if w.w != nil {
		t.Fatal("watches a directory that does not exist")
	}
	if !w.wait(t.Context()) {
		t.Error("wait gave up")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w.wait(ctx) {
		t.Error("wait went on after its context")
	}
}
