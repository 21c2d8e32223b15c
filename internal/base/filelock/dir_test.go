package filelock_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"den/internal/base/filelock"
)

func wantDirHeld(t *testing.T, path string, want bool) {
	t.Helper()
	if held, err := filelock.HeldDir(path); err != nil || held != want {
		t.Errorf("held: %v, %v; want %v", held, err, want)
	}
}

func TestDirectoryHeldByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	wantDirHeld(t, filepath.Join(dir, "none"), false)
	holder := start(t, "hold-dir", dir, nil)
	wantDirHeld(t, dir, true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.WaitDir(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("wait for a held lock: %v", err)
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != 0 {
		t.Errorf("the lock left %v, %v", there, err)
	}
	holder.kill(t)
	f, err := filelock.WaitDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantDirHeld(t, dir, true)
	f.Close()
	wantDirHeld(t, dir, false)
}

func TestDirectoryReleasedWhileAChildStarts(t *testing.T) {
	dir := t.TempDir()
	f, err := filelock.WaitDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	start(t, "inherit", dir, func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{f} })
	if err := filelock.ReleaseDir(f); err != nil {
		t.Error(err)
	}
	wantDirHeld(t, dir, false)
}

// A directory that cannot be written can be locked all the same.
func TestDirectoryWithReadAccess(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) }) // Best effort: so that it can be removed.
	f, err := filelock.WaitDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestNoDirectory(t *testing.T) {
	if _, err := filelock.WaitDir(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	file := lockPath(t)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.WaitDir(t.Context(), file); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a file: %v", err)
	}
}
