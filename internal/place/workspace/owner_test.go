package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/workspace"
	"den/internal/testkit/need"
)

// The search upwards passes over files that another user wrote or can replace.
func TestFindPassesOverFilesOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		need.Feature(t, "making files of another user needs root")
	}
	const nobody = 65534
	for name, prepare := range map[string]func(dir, file string) error{
		"their file in a sticky directory": func(dir, file string) error {
			if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
				return err
			}
			return os.Chown(file, nobody, nobody)
		},
		"their directory":       func(dir, _ string) error { return os.Chown(dir, nobody, nobody) },
		"a directory for all":   func(dir, _ string) error { return os.Chmod(dir, 0o777) },
		"a file that all write": func(_, file string) error { return os.Chmod(file, 0o666) },
	} {
		top := t.TempDir()
		own := filepath.Join(top, "den.toml")
		dir := filepath.Join(top, "shared")
		file := filepath.Join(dir, "den.toml")
		below := filepath.Join(dir, "mine")
		if err := os.MkdirAll(below, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if found, err := workspace.Find(below); err != nil || found != file {
			t.Fatalf("%s: before: %q, %v", name, found, err)
		}
		if err := prepare(dir, file); err != nil {
			t.Fatal(err)
		}
		if found, err := workspace.Find(below); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: %q, %v, want denied", name, found, err)
		}
		if err := os.WriteFile(own, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if found, err := workspace.Find(below); err != nil || found != own {
			t.Errorf("%s: %q, %v, want the one above", name, found, err)
		}
	}
}
