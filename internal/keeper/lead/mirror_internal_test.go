package lead

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// configMap is a directory as a kubelet makes it: files are links into a version,
// and one link is what changes.
func configMap(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	real := filepath.Join(dir, ".."+version)
	if err := os.MkdirAll(real, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(real, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	next := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(".."+version, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// A workspace's files follow those of a ConfigMap. What the keeper has beside
// them stays.
func TestMirror(t *testing.T) {
	m := mirror{from: t.TempDir(), to: filepath.Join(t.TempDir(), "workspace")}
	configMap(t, m.from, "1", map[string]string{"den.toml": "one", "prompt.md": "hello"})
	if err := m.copy(); err != nil {
		t.Fatal(err)
	}
	has := func(name, want string) bool {
		raw, err := os.ReadFile(filepath.Join(m.to, name))
		return err == nil && string(raw) == want
	}
	if !has("den.toml", "one") || !has("prompt.md", "hello") {
		t.Fatal("not all files were brought")
	}
	if fi, err := os.Lstat(filepath.Join(m.to, "den.toml")); err != nil || !fi.Mode().IsRegular() {
		t.Fatalf("den.toml is %v, %v", fi, err)
	}
	if err := os.WriteFile(filepath.Join(m.to, "own"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(m.to, "prompt.md"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { m.follow(ctx) })
	defer following.Wait()
	defer stop()
	for n := 2; !has("den.toml", "two"); n++ { // it may not have watched yet: the link changes again
		configMap(t, m.from, strconv.Itoa(n), map[string]string{"den.toml": "two", "prompt.md": "hello"})
		time.Sleep(5 * time.Millisecond)
	}
	if !has("own", "mine") {
		t.Error("a file that is not the ConfigMap's is gone")
	}
	if now, err := os.Stat(filepath.Join(m.to, "prompt.md")); err != nil || !os.SameFile(before, now) {
		t.Errorf("a file that has not changed was written: %v", err)
	}
}
