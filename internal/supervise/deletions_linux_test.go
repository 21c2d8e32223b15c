package supervise_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/supervise"
)

// Who holds a file hears that it was deleted, also where its directory was
// moved, and not that files were written beside it.
func TestDeletions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	deleted, end := supervise.Deletions(lock)
	defer end()
	for _, name := range []string{"a", "a.tmp"} {
		if err := os.WriteFile(filepath.Join(dir+"2", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir+"2", "a.tmp"), filepath.Join(dir+"2", "a")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-deleted:
		t.Error("a file that was replaced counts as deleted")
	default: // a signal of this process is there before the call returns
	}
	if err := os.RemoveAll(dir + "2"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-deleted:
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody told")
	}
}
