package home_test

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"testing"
	"time"

	"den/internal/process/tree"
	"den/internal/session/home"
	"den/internal/testkit/need"
)

// A session whose Home was deleted leaves an empty cgroup that no record names.
// gc of any Home removes it.
func TestCollectRemovesEmptyCgroups(t *testing.T) {
	c := tree.NewCgroup("gc-test-" + strconv.Itoa(os.Getpid()))
	if c.Path == "" {
		need.Feature(t, "this user cannot create cgroups of version 2 here")
	}
	defer c.Remove()
	collect := func() {
		t.Helper()
		if _, err := (home.Home{Path: t.TempDir()}).Collect(time.Now(), home.GCOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	collect()
	if _, err := os.Stat(c.Path); err != nil {
		t.Fatalf("a new cgroup was removed: %v", err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(c.Path, old, old); err != nil {
		t.Fatal(err)
	}
	collect()
	if _, err := os.Stat(c.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old empty cgroup is left: %v", err)
	}
}
