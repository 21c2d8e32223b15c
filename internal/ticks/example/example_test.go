package example_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/example"
)

func TestWrite(t *testing.T) {
	for kind, runner := range map[example.Kind]string{example.Model: "claude", example.Script: "script"} {
		dir := filepath.Join(t.TempDir(), "new")
		if err := example.Write(dir, kind); err != nil {
			t.Fatal(err)
		}
		r, err := datarepo.Open(dir, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		config, err := r.Config()
		if err != nil || config.Runner != runner {
			t.Errorf("%s: %+v, %v", kind, config, err)
		}
		if startup, err := r.Startup(); err != nil || len(startup) != 1 {
			t.Errorf("%s: %+v, %v", kind, startup, err)
		}
		for name, executable := range map[string]bool{"system/hooks/post-tick/90-commit": true, ".gitignore": false} {
			fi, err := os.Stat(filepath.Join(dir, name))
			if err != nil || (fi.Mode().Perm()&0o111 != 0) != executable {
				t.Errorf("%s: %s: %v, %v", kind, name, fi, err)
			}
		}
		if err := example.Write(dir, kind); fault.KindOf(err) != fault.Busy {
			t.Errorf("%s: a second time: %v", kind, err)
		}
	}
}
