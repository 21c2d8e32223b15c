package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
)

func receive(t *testing.T, what string, c <-chan struct{}) bool {
	t.Helper()
	select {
	case _, open := <-c:
		return open
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s: nothing came", what)
		return false
	}
}

func TestChangesAreTold(t *testing.T) {
	var now atomic.Value
	now.Store(conversation.Ready)
	path := t.TempDir()
	dir, err := watch.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	w := watch.Start(watch.Options{Every: time.Hour, Dir: dir, Read: func(context.Context) (conversation.State, error) {
		return conversation.State{Activity: now.Load().(conversation.Activity)}, nil
	}})
	receive(t, "the first state", w.Changes())
	now.Store(conversation.Busy)
	if err := os.WriteFile(filepath.Join(path, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	receive(t, "the change", w.Changes())
	if s, err := w.State(t.Context()); err != nil || s.Activity != conversation.Busy {
		t.Errorf("%+v, %v", s, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if receive(t, "the end", w.Changes()) {
		t.Error("the channel is open after Close")
	}
}

func TestChangesWithoutAnEventAreTold(t *testing.T) {
	var gone atomic.Bool
	w := watch.Start(watch.Options{Every: time.Millisecond, Read: func(context.Context) (conversation.State, error) {
		if gone.Load() {
			return conversation.State{Activity: conversation.Gone}, nil
		}
		return conversation.State{Activity: conversation.Ready}, nil
	}})
	defer w.Close()
	receive(t, "the first state", w.Changes())
	gone.Store(true)
	receive(t, "the end of the process", w.Changes())
}

// A directory that is not there yet is watched as soon as it is.
func TestDirThatComesLater(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b", "c")
	d, err := watch.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	receive(t, "the directory", d.Events())
	file := filepath.Join(dir, "state.json")
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for range d.Events() {
			if _, err := os.Stat(file); err == nil {
				return
			}
		}
	}()
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	receive(t, "the file", seen)
}

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
