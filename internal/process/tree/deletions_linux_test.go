package tree_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/process/tree"
)

// Who holds a file hears that it was deleted, also where its directory was
// moved.
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
	deleted, end := tree.Deletions(lock)
	defer end()
	if err := os.RemoveAll(dir + "2"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-deleted:
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody told")
	}
}
