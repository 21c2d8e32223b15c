package local_test

import (
	"path/filepath"
	"strings"
	"testing"

	"den/internal/place/provider"
	"den/internal/place/provider/local"
)

func TestExecCodes(t *testing.T) {
	missing := provider.Config{WorkDir: filepath.Join(t.TempDir(), "not", "there", "yet")}
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -15 $$": 143, "sleep 2 & exit 4": 4} {
		var out strings.Builder // a pipe, which the child that is left behind holds
		code, err := local.Place{}.Exec(t.Context(), "w", missing, provider.ExecSpec{Argv: []string{"/bin/sh", "-c", script}, Stdout: &out})
		if err != nil || code != want {
			t.Errorf("%s: %d, %v; want %d", script, code, err, want)
		}
	}
	for _, argv := range [][]string{nil, {""}, {"/no/such/program"}} {
		if _, err := (local.Place{}).Exec(t.Context(), "w", missing, provider.ExecSpec{Argv: argv}); err == nil {
			t.Errorf("%q: no error", argv)
		}
	}
}
