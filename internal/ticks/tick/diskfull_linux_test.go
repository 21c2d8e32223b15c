package tick_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/testkit/need"
	"den/internal/ticks/plan"
	"den/internal/ticks/tick"
)

// A tick with a disk that is full ends somehow, tells so, and loses nothing.
// When there is room again the next one is as ever.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"data", "state", "home"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			w := newWorldOn(t, where)
			w.mind.turns = []func(*turn) (runner.Result, error){talkative}
			w.tick(plan.Normal)
			if err := w.o.Repo.RequestTick("a reason"); err != nil {
				t.Fatal(err)
			}
			w.put("system/notifications/a.txt", "the mail is here")
			old := time.Now().Add(-time.Minute)
			for _, name := range []string{"system/notifications/a.txt", "system/tick_trigger"} {
				if err := os.Chtimes(filepath.Join(w.data, name), old, old); err != nil {
					t.Fatal(err)
				}
			}
			seen, err := w.o.Look(t.Context(), time.Now())
			if err != nil || len(seen.Causes) != 2 {
				t.Fatalf("%+v, %v", seen, err)
			}
			prompts := len(w.mind.prompts)
			free := w.fill(filepath.Join(w.root, where))
			r, err := tick.Run(t.Context(), w.o, seen.Causes)
			t.Logf("%+v, %v", r.Outcome, err)
			if err == nil && r.Outcome.Reason == "" {
				t.Errorf("it ended in no way: %+v", r)
			}
			if err == nil && !strings.Contains(w.logs.String()+r.Outcome.Why+r.Last, "no space left") {
				t.Errorf("nobody is told that the disk is full: %+v", r)
			}
			if told := len(w.mind.prompts) > prompts; !told && (w.read("system/tick_trigger") == "" || w.read("system/notifications/a.txt") == "") {
				t.Error("the agent was not told, and the trigger or the notification is lost")
			}
			free()
			if seen, err = w.o.Look(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			w.tick(plan.Normal, seen.Causes...)
			all := strings.Join(w.mind.prompts[prompts:], "\n")
			if !strings.Contains(all, "trigger: a reason") {
				t.Errorf("it was never told the reason: %q", all)
			}
			for _, name := range []string{"system/tick_trigger", "system/notifications/a.txt"} {
				if w.read(name) != "" {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

// newWorldOn is newWorld with one of its directories on a small disk of its own.
func newWorldOn(t *testing.T, where string) *world {
	t.Helper()
	mounted := false
	w := newWorldWith(t, func(root string) {
		dir := filepath.Join(root, where)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
			need.Feature(t, "cannot mount a tmpfs of 4 MB (needs root): %v", err)
		}
		mounted = true
		t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	})
	if !mounted {
		t.Fatal("nothing was mounted")
	}
	return w
}

// fill fills the disk of a directory, and returns what makes room again.
func (w *world) fill(dir string) (free func()) {
	w.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		w.Fatal(err)
	}
	for size := 64 << 10; size > 0; { // to the last byte
		var n int
		if n, err = f.Write(make([]byte, size)); err == nil {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
			w.Fatal(err)
		}
		if n == 0 {
			size /= 2
		}
	}
	if err := f.Close(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		w.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			w.Fatal(err)
		}
	}
}
