package watch_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"den/internal/agent/conversation/watch"
)

// A line that is not whole yet is read when it is, none is read twice, and a
// file that is written anew is read from its beginning.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	tail := watch.Tail{Path: path}
	for _, step := range []struct {
		content string
		want    []string
		anew    bool
	}{
		{"one\ntw", []string{"one\n"}, false},
		{"one\ntwo\nthree\n", []string{"two\n", "three\n"}, false},
		{"one\ntwo\nthree\n", nil, false},
		{"new\n", []string{"new\n"}, true},
	} {
		if err := os.WriteFile(path, []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		anew := false
		if err := tail.Read(func() { anew = true }, func(line []byte) { got = append(got, string(line)) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, step.want) || anew != step.anew {
			t.Errorf("%q: %q, anew %v", step.content, got, anew)
		}
	}
}

func TestTailFrom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for last, want := range map[int64]int64{4: 4, 100: 0} {
		tail, err := watch.TailFrom(path, last)
		if err != nil || tail.Offset != want {
			t.Errorf("%d: %+v, %v", last, tail, err)
		}
	}
	if _, err := watch.TailFrom(path+"x", 1); err == nil {
		t.Error("a file that is not there has an end")
	}
}
