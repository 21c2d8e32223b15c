package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/journal"
)

func lines(t *testing.T, path string, l journal.Limits) []string {
	t.Helper()
	var all []string
	err := journal.Read(path, l, func(line []byte) error {
		all = append(all, string(line))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The newest lines are kept, in order, and the files stay small and private.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	limits := journal.Limits{Bytes: 100, Kept: 2}
	j := journal.Open(path, limits)
	states := map[string]bool{}
	for i := range 100 {
		if err := j.Append(map[string]int{"n": i}); err != nil {
			t.Fatal(err)
		}
		state, err := journal.State(path)
		if err != nil || states[state] {
			t.Fatalf("state %q, %v", state, err)
		}
		states[state] = true
	}
	got := lines(t, path, limits)
	if len(got) < 20 || len(got) > 40 {
		t.Errorf("%d lines are left", len(got))
	}
	for i, line := range got {
		if want := fmt.Sprintf(`{"n":%d}`, 100-len(got)+i); line != want {
			t.Errorf("line %d is %s, want %s", i, line, want)
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if fi, err := f.Info(); err != nil || fi.Mode().Perm() != 0o600 || fi.Size() > 200 {
			t.Errorf("%s: %v, %v", f.Name(), fi, err)
		}
	}
}

// A half line that a crash left spoils no other.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	limits := journal.Limits{Bytes: 1 << 20, Kept: 1}
	if err := os.WriteFile(path, []byte("1\n\"ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, path, limits); fmt.Sprint(got) != "[1]" {
		t.Errorf("%q", got)
	}
	j := journal.Open(path, limits)
	for _, n := range []int{2, 3} {
		if err := j.Append(n); err != nil {
			t.Fatal(err)
		}
	}
	if got := lines(t, path, limits); fmt.Sprintf("%q", got) != `["1" "\"ha" "2" "3"]` {
		t.Errorf("%q", got)
	}
}

// What is not there has no lines, and no state.
func TestNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	if got := lines(t, path, journal.Limits{Bytes: 10}); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if state, err := journal.State(path); state != "" || err != nil {
		t.Errorf("%q, %v", state, err)
	}
}
