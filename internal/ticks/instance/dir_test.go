package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

var now = time.Unix(1_800_000_000, 0)

func dirOf(t *testing.T) instance.Dir {
	t.Helper()
	state := t.TempDir()
	d, err := instance.At(t.TempDir(), func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] })
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Make(); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOneDirectoryForOneRepository(t *testing.T) {
	state, repo := t.TempDir(), t.TempDir()
	getenv := func(key string) string { return map[string]string{"HOME": state}[key] }
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	a, errA := instance.At(repo, getenv)
	b, errB := instance.At(link+"/.", getenv)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if a != b {
		t.Errorf("%+v and %+v", a, b)
	}
	if !strings.HasPrefix(a.Path, filepath.Join(state, ".local", "state", "den", "kernel")+"/") {
		t.Errorf("state in %s", a.Path)
	}
	if _, err := instance.At(filepath.Join(repo, "none"), getenv); err == nil {
		t.Error("a repository that is not there has a directory")
	}
	if _, err := instance.At(repo, func(string) string { return "" }); fault.KindOf(err) != fault.Usage {
		t.Errorf("without HOME: %v", err)
	}
}

func TestLocksSayWhoHoldsThem(t *testing.T) {
	d := dirOf(t)
	l, err := d.LockWatch(watch.Holder{PID: 4711, What: "watch demo", Since: now})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = d.LockWatch(watch.Holder{PID: 4712, What: "watch demo", Since: now})
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), d.Repo) {
		t.Errorf("the second watcher: %v", err)
	}
	tick, err := d.LockTick(watch.Holder{PID: 4711, What: "tick demo", Since: now})
	if err != nil {
		t.Fatalf("a watcher keeps ticks from being run: %v", err)
	}
	tick.Close()
}

// A process with another state directory has other lock files. It must not tick
// the same repository, and is seen.
func TestLocksOfAnotherStateDirectory(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	at := func() instance.Dir {
		state := t.TempDir()
		d, err := instance.At(repo, func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one, other := at(), at()
	for what, lock := range map[string]struct {
		take func(instance.Dir, watch.Holder) (*watch.Lock, error)
		held func(instance.Dir) (watch.Holder, bool, error)
	}{
		"tick":  {instance.Dir.LockTick, instance.Dir.TickHolder},
		"watch": {instance.Dir.LockWatch, instance.Dir.WatchHolder},
	} {
		t.Run(what, func(t *testing.T) {
			l, err := lock.take(one, watch.Holder{PID: 4711, What: what + " demo", Since: now})
			if err != nil {
				t.Fatal(err)
			}
			if h, held, err := lock.held(one); err != nil || !held || h.PID != 4711 {
				t.Errorf("its own holder: %v, %v, %v", h, held, err)
			}
			if h, held, err := lock.held(other); err != nil || !held || h.String() != "another process" {
				t.Errorf("the other's holder: %v, %v, %v", h, held, err)
			}
			_, err = lock.take(other, watch.Holder{PID: 4712, What: what + " demo", Since: now})
			if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), repo) || !strings.Contains(fault.HintOf(err), "XDG_STATE_HOME") {
				t.Errorf("with another state directory: %v (%s)", err, fault.HintOf(err))
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if _, held, err := lock.held(other); err != nil || held {
				t.Errorf("after the end: %v, %v", held, err)
			}
			if l, err = lock.take(other, watch.Holder{PID: 4712, What: what + " demo", Since: now}); err != nil {
				t.Fatal(err)
			}
			l.Close()
		})
	}
	if there, err := filepath.Glob(filepath.Join(repo, "*")); err != nil || len(there) != 1 {
		t.Errorf("the repository has %v, %v", there, err) // system
	}
}

func TestRecords(t *testing.T) {
	d := dirOf(t)
	if _, found, err := d.LoadTick(now); found || err != nil {
		t.Errorf("before the first tick: %v, %v", found, err)
	}
	want := plan.First(3, now, "q", []plan.Cause{{Kind: plan.ByWake, Reason: "tea"}}, plan.Limits{})
	if err := d.SaveTick(want); err != nil {
		t.Fatal(err)
	}
	got, found, err := d.LoadTick(now)
	if err != nil || !found || !got.Same(want) {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
	if m, err := d.LoadMemory(now); err != nil || m != (watch.Memory{}) {
		t.Errorf("%+v, %v", m, err)
	}
	m := watch.Memory{Failures: 2, Ended: now.UTC(), Rest: time.Minute, Why: "x"}
	if err := d.SaveMemory(m); err != nil {
		t.Fatal(err)
	}
	if got, err := d.LoadMemory(now); err != nil || got != m {
		t.Errorf("%+v, %v", got, err)
	}
}

// A file that cannot be read is told once, kept, and does not stop what comes
// next. One of a newer den is left alone.
func TestDamagedRecords(t *testing.T) {
	d := dirOf(t)
	for name, load := range map[string]func() error{
		"tick.json":  func() error { _, _, err := d.LoadTick(now); return err },
		"watch.json": func() error { _, err := d.LoadMemory(now); return err },
	} {
		path := filepath.Join(d.Path, name)
		if err := os.WriteFile(path, []byte(`{"v":1,"ti`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := load(); fault.KindOf(err) != fault.Storage || !strings.Contains(err.Error(), ".corrupt-") {
			t.Errorf("%s: %v", name, err)
		}
		if err := load(); err != nil {
			t.Errorf("%s, the second time: %v", name, err)
		}
		if kept, err := filepath.Glob(path + ".corrupt-*"); err != nil || len(kept) != 1 {
			t.Errorf("%s: kept %v, %v", name, kept, err)
		}
		if err := os.WriteFile(path, []byte(`{"v":99,"stage":"new things"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := load(); fault.KindOf(err) != fault.Protocol {
			t.Errorf("%s of a newer den: %v", name, err)
		}
	}
}
