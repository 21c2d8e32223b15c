package host

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/testkit/need"
)

// The line that a hook has read last is known, whatever was written meanwhile,
// and also of a hook that reads all that is there.
func TestHookEndsAtALine(t *testing.T) {
	need.Program(t, "perl")
	for name, script := range map[string]string{
		"line by line": "while read -r line; do case $line in *END*) exit;; esac; done",
		"slow to end":  "while read -r line; do case $line in *END*) sleep 0.1; exit;; esac; done",
		"greedy":       `exec perl -ne 'exit if /END/'`,
	} {
		path := filepath.Join(t.TempDir(), "hook")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		h, err := startHook(path, "", place{Line: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range []string{"one\r", "\n", "two\n", "END\n", "more\n", "and more\n"} {
			h.pushLocked([]byte(part), place{Line: int64(i + 1)})
		}
		h.pushLocked([]byte("$ "), place{Line: 6, Col: 2})
		h.restLocked(place{Line: 6, Col: 2})
		<-h.ended
		h.close()
		if h.read == nil || *h.read != (hookLine{"END", place{Line: 3}}) {
			t.Errorf("%s: ends at %v", name, h.read)
		}
	}
}
