package datarepo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
)

func open(t testing.TB) *datarepo.Repo {
	t.Helper()
	return openIn(t, t.TempDir())
}

func openIn(t testing.TB, dir string) *datarepo.Repo {
	t.Helper()
	r, err := datarepo.Open(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}

// write puts a file into a repository as a program that is not den's does: into
// the file itself, some time ago.
func write(t testing.TB, r *datarepo.Repo, name, text string) {
	t.Helper()
	writeAt(t, r, name, text, time.Now().Add(-time.Minute))
}

func writeAt(t testing.TB, r *datarepo.Repo, name, text string, at time.Time) {
	t.Helper()
	path := filepath.Join(r.Path(), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, r *datarepo.Repo, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.Path(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t testing.TB, r *datarepo.Repo, dir string) []string {
	t.Helper()
	all, err := r.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := openIn(t, link)
	if r.Path() != want {
		t.Errorf("%s, want %s", r.Path(), want)
	}
	for _, name := range []string{"notes", "system/notifications", "system/logs", "sandbox", "tmp"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
	if _, err := datarepo.Open(filepath.Join(dir, "none"), t.TempDir()); fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := datarepo.Open("relative", t.TempDir()); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
}

// Links, pipes and huge files in the place of files neither lead out of the
// repository nor block.
func TestHostileFiles(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte(`{"model": "secret", "tick_count": 5, "ttys": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []string{"agent_config.json", "prompt.md", "startup.json", "state.json", "tick_trigger", "crash_state.json", "notifications/1.txt"}
	for what, make := range map[string]func(path string) error{
		"a link that leads out":          func(path string) error { return os.Symlink(outside, path) },
		"a relative link that leads out": func(path string) error { return os.Symlink("../../../../../../../../../../../.."+outside, path) },
		"a pipe":                         func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory":                    func(path string) error { return os.Mkdir(path, 0o700) },
		"a huge file": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := open(t)
			for _, name := range files {
				if err := make(filepath.Join(r.Path(), "system", name)); err != nil {
					t.Fatal(err)
				}
			}
			_, configErr := r.Config()
			prompt, promptErr := r.Prompt()
			terminals, startupErr := r.Startup()
			_, stateErr := r.State()
			_, _, triggerErr := r.Trigger(time.Now())
			_, crashErr := r.NotifyCrash(t.Context(), time.Now(), datarepo.Crash{Text: "error"})
			in, err := r.Notifications(time.Now())
			for name, err := range map[string]error{"config": configErr, "prompt": promptErr, "startup": startupErr, "state": stateErr, "trigger": triggerErr, "crash": crashErr} {
				if err == nil {
					t.Errorf("%s: no error", name)
				}
			}
			if err != nil || len(in.Ready) != 0 || len(in.Problems) != 1 {
				t.Errorf("notifications %+v, %v", in, err)
			}
			if strings.Contains(prompt, "secret") || !slices.Equal(terminals, datarepo.DefaultStartup()) {
				t.Errorf("%q, %v", prompt, terminals)
			}
		})
	}
}

// A directory that is a link out of the repository is not written to.
func TestWritesStayInside(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "system")); err != nil {
		t.Fatal(err)
	}
	r, err := datarepo.Open(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for what, err := range map[string]error{
		"prepare": r.Prepare(time.Now()),
		"state":   r.SaveState(datarepo.State{TickCount: 1}),
		"pause":   r.Pause(datarepo.Pause{Why: "x"}),
		"trigger": r.RequestTick("x"),
		"prompt":  r.Write("system/prompt.md", []byte("x")),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if entries, err := os.ReadDir(outside); len(entries) != 0 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestPermissionsStay(t *testing.T) {
	r := open(t)
	write(t, r, "system/state.json", `{"tick_count": 1}`)
	if err := os.Chmod(filepath.Join(r.Path(), "system/state.json"), 0o664); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.SaveState(datarepo.State{TickCount: 2}), r.Write("system/prompt.md", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	for name, want := range map[string]os.FileMode{"state.json": 0o664, "prompt.md": 0o644 &^ os.FileMode(umask)} {
		fi, err := os.Stat(filepath.Join(r.Path(), "system", name))
		if err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, fi.Mode().Perm(), err, want)
		}
	}
}

func TestSwap(t *testing.T) {
	r := open(t)
	if err := r.Swap("system/f", nil, []byte("1")); err != nil {
		t.Error(err)
	}
	for what, old := range map[string][]byte{"missing": nil, "other": []byte("0"), "longer": []byte("11"), "empty": {}} {
		if err := r.Swap("system/f", old, []byte("2")); !errors.Is(err, datarepo.ErrChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.Swap("system/f", []byte("1"), []byte("2")); err != nil || read(t, r, "system/f") != "2" {
		t.Errorf("%v, %q", err, read(t, r, "system/f"))
	}
	if err := r.Swap("system/none", []byte("1"), nil); !errors.Is(err, datarepo.ErrChanged) {
		t.Errorf("%v", err)
	}
}

func TestEditIsOneAtATime(t *testing.T) {
	dir, locks := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	var inside, total atomic.Int32
	for range 8 {
		r, err := datarepo.Open(dir, locks)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		wg.Go(func() {
			for range 20 {
				if err := r.Edit(t.Context(), func() error {
					total.Add(1)
					if inside.Add(1) != 1 {
						t.Error("two edit at once")
					}
					inside.Add(-1)
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if total.Load() != 160 {
		t.Errorf("%d edits", total.Load())
	}
}

func TestClearTmp(t *testing.T) {
	r := open(t)
	write(t, r, "tmp/a/b", "x")
	write(t, r, "tmp/sessions/registry.json", "{}")
	if err := r.ClearTmp("sessions"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, r, "tmp"); !slices.Equal(got, []string{"sessions"}) {
		t.Errorf("%v", got)
	}
	outside := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(outside, "theirs"), nil, 0o600),
		os.RemoveAll(filepath.Join(r.Path(), "tmp")),
		os.Symlink(outside, filepath.Join(r.Path(), "tmp")),
	); err != nil {
		t.Fatal(err)
	}
	if err := r.ClearTmp(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(filepath.Join(r.Path(), "tmp")); err != nil || !fi.IsDir() {
		t.Errorf("%v, %v", fi, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "theirs")); err != nil {
		t.Error("a file outside was removed")
	}
}

func TestHighestTick(t *testing.T) {
	r := open(t)
	if n, err := r.HighestTick(); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, name := range []string{"tick-001.jsonl", "tick-041.jsonl.gz", "tick-9.jsonl", "tick-99999999999999999999.jsonl", "watcher.log", "tick-300.txt"} {
		write(t, r, "system/logs/"+name, "")
	}
	if n, err := r.HighestTick(); n != 41 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	write(t, r, "system/logs/sessions/tty_3-tick-1042-1/screen", "")
	if n, err := r.HighestTick(); n != 1042 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := datarepo.TickLog(7) + " " + datarepo.TickLog(1234); got != "system/logs/tick-007.jsonl system/logs/tick-1234.jsonl" {
		t.Errorf("%s", got)
	}
}

// What a killed process left is put back or removed; what another one writes at
// the moment stays.
func TestPrepareTidies(t *testing.T) {
	r := open(t)
	old := time.Now().Add(-2 * time.Hour)
	writeAt(t, r, "system/.state.json.tmp-OLD", "", old)
	write(t, r, "system/.state.json.tmp-NEW", "")
	write(t, r, "system/.tick_trigger.taken-X", "why")
	write(t, r, "system/notifications/.a.txt.taken-X", "first")
	write(t, r, "system/notifications/.b.txt.taken-X", "of b")
	write(t, r, "system/notifications/b.txt", "new b")
	if err := r.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := names(t, r, "system"); slices.Contains(got, ".state.json.tmp-OLD") || !slices.Contains(got, ".state.json.tmp-NEW") || !slices.Contains(got, "tick_trigger") {
		t.Errorf("%v", got)
	}
	in, err := r.Notifications(time.Now())
	var texts []string
	for _, n := range in.Ready {
		texts = append(texts, n.Text)
	}
	slices.Sort(texts)
	if err != nil || !slices.Equal(texts, []string{"first", "new b", "of b"}) {
		t.Errorf("%v, %v", texts, err)
	}
}

// A message whose removal was interrupted by a kill is the same message again.
func TestTakenKeepsItsID(t *testing.T) {
	r := open(t)
	write(t, r, "system/notifications/a.txt", "hello")
	before, err := r.Notifications(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(r.Path(), "system/notifications")
	if err := errors.Join(os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, ".a.txt.taken-X")), r.Prepare(time.Now())); err != nil {
		t.Fatal(err)
	}
	if after, err := r.Notifications(time.Now()); err != nil || len(after.Ready) != 1 || after.Ready[0] != before.Ready[0] {
		t.Errorf("%+v, %v; want %+v", after, err, before)
	}
}

func TestKeepAside(t *testing.T) {
	r := open(t)
	now := time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC)
	for i, want := range []string{"system/f.corrupt-20260201T093000Z", "system/f.corrupt-20260201T093000Z-1"} {
		write(t, r, "system/f", fmt.Sprint(i))
		if got, err := r.KeepAside("system/f", now); got != want || err != nil || read(t, r, want) != fmt.Sprint(i) {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestReadLimit(t *testing.T) {
	r := open(t)
	write(t, r, "f", "12345")
	if data, _, err := r.Read("f", 5); string(data) != "12345" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, _, err := r.Read("f", 4); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}
