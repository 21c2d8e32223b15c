package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOverlayNeverOverwrites(t *testing.T) {
	src, dir := t.TempDir(), t.TempDir()
	put(t, filepath.Join(src, "a"), "new")
	put(t, filepath.Join(src, "sub/b"), "new")
	put(t, filepath.Join(src, "sub/run"), "#!/bin/sh")
	if err := os.Chmod(filepath.Join(src, "sub/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", filepath.Join(src, "sub/link")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "a"), "mine")
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(src, "dangling"), "new")
	for i, want := range []string{"3 copied, 2 kept", "0 copied, 5 kept"} {
		said, err := overlayDir(context.Background(), src, dir)
		if err != nil || said != want {
			t.Errorf("time %d: %q, %v", i, said, err)
		}
	}
	if get(t, filepath.Join(dir, "a")) != "mine" || get(t, filepath.Join(dir, "sub/link")) != "new" {
		t.Error("a file was overwritten, or not copied")
	}
	info, err := os.Stat(filepath.Join(dir, "sub/run"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestOverlayStaysInside(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "s")

	// The work directory has a link that leads out where the overlay has a
	// directory.
	src, dir := t.TempDir(), t.TempDir()
	put(t, filepath.Join(src, "out/planted"), "x")
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := overlayDir(context.Background(), src, dir); err == nil {
		t.Error("it went through a link")
	}
	if _, err := os.Lstat(filepath.Join(outside, "planted")); err == nil {
		t.Error("a file was written outside")
	}

	// The overlay has links that lead out.
	for _, target := range []string{outside, "../../x", "/etc/passwd"} {
		src, dir := t.TempDir(), t.TempDir()
		if err := os.Symlink(target, filepath.Join(src, "l")); err != nil {
			t.Fatal(err)
		}
		if _, err := overlayDir(context.Background(), src, dir); fault.KindOf(err) != fault.Denied {
			t.Errorf("link to %s: %v", target, err)
		}
	}
	if _, err := overlayDir(context.Background(), filepath.Join(outside, "gone"), dir); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no overlay: %v", err)
	}
}

func TestCopyFiles(t *testing.T) {
	src, dir := t.TempDir(), t.TempDir()
	put(t, filepath.Join(src, "f"), "new")
	put(t, filepath.Join(src, "d/x/y"), "deep")
	put(t, filepath.Join(dir, "sub/f"), "old")
	for _, c := range [][2]string{{"f", "sub/f"}, {"d", "e"}} {
		if _, err := copyEntry(context.Background(), filepath.Join(src, c[0]), c[1], dir); err != nil {
			t.Fatal(err)
		}
	}
	if get(t, filepath.Join(dir, "sub/f")) != "new" || get(t, filepath.Join(dir, "e/x/y")) != "deep" {
		t.Error("not copied")
	}
	if said, err := copyEntry(context.Background(), filepath.Join(dir, "sub/f"), "sub/f", dir); err != nil || !strings.Contains(said, "same") || get(t, filepath.Join(dir, "sub/f")) != "new" {
		t.Errorf("a file onto itself: %q %v", said, err)
	}
	if _, err := copyEntry(context.Background(), filepath.Join(src, "gone"), "x", dir); fault.KindOf(err) != fault.NotFound {
		t.Errorf("gone: %v", err)
	}
}
