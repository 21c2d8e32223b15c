package terminal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
)

func TestRegistryKeepsWhatTheNextTickNeeds(t *testing.T) {
	f, err := openFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	r, err := openRegistry(filepath.Join(t.TempDir(), "state"), f)
	if err != nil {
		t.Fatal(err)
	}
	if known, err := r.load(); err != nil || known != nil {
		t.Errorf("an empty one: %v, %v", known, err)
	}
	want := entry{Command: "vim x", CurrentCommand: "vim", Created: time.Unix(1, 0), Status: "idle", LastActivity: time.Unix(2, 0), Session: "id", Tick: 12, Seen: 99}
	if err := r.save(func() map[string]entry { return map[string]entry{"tty_3": want} }); err != nil {
		t.Fatal(err)
	}
	known, err := r.load()
	if got := known[3]; err != nil || len(known) != 1 || got.Command != want.Command || got.Seen != 99 || !got.Created.Equal(want.Created) {
		t.Errorf("%+v, %v", known, err)
	}
	raw, err := os.ReadFile(filepath.Join(f.base, sessionsDir, registryFile))
	var shown map[string]map[string]any
	if err != nil || json.Unmarshal(raw, &shown) != nil || shown["tty_3"]["current_command"] != "vim" || shown["tty_3"]["status"] != "idle" {
		t.Errorf("the agent's: %s, %v", raw, err)
	}
}

// A file that cannot be read is kept, and told of.
func TestRegistryIsNeverForgottenInSilence(t *testing.T) {
	f, err := openFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, bad := range []string{"", "{", `{"tty_99":{}}`, `{"x":{}}`, `{"tty_03":{}}`, "[]"} {
		state := t.TempDir()
		path := filepath.Join(state, registryFile)
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := openRegistry(state, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.load(); fault.KindOf(err) != fault.Storage || !strings.Contains(err.Error(), path+".corrupt-") {
			t.Errorf("%q: %v", bad, err)
		}
		if kept, err := filepath.Glob(path + ".corrupt-*"); err != nil || len(kept) != 1 {
			t.Errorf("%q: kept %v, %v", bad, kept, err)
		}
	}
}

func FuzzParseRegistry(f *testing.F) {
	f.Add([]byte(`{"tty_0":{"command":"bash","seen":5}}`))
	f.Add([]byte(`{"tty_-1":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		known, err := parseRegistry(raw)
		for n := range known {
			if err != nil || n < 0 || n >= Max {
				t.Errorf("terminal %d, %v", n, err)
			}
		}
	})
}
