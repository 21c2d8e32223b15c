package rotate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/ticks/rotate"
)

func open(t *testing.T, dir string, console *strings.Builder) *rotate.Logs {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	var l *rotate.Logs
	if console != nil {
		l = rotate.Open(root, "watcher", console)
	} else {
		l = rotate.Open(root, "watcher", nil)
	}
	t.Cleanup(func() {
		l.Close()
		root.Close()
	})
	return l
}

// log writes a record of a time.
func log(t *testing.T, l *rotate.Logs, at time.Time, text string) {
	t.Helper()
	if err := l.Handler().Handle(t.Context(), slog.NewRecord(at, slog.LevelInfo, text, 0)); err != nil {
		t.Error(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var noon = time.Date(2026, 2, 1, 12, 0, 0, 0, time.Local)

func TestFormat(t *testing.T) {
	dir := t.TempDir()
	var console strings.Builder
	l := open(t, dir, &console)
	logger := slog.New(l.Handler())
	at := func(level slog.Level, logger *slog.Logger, msg string, args ...any) {
		r := slog.NewRecord(noon, level, msg, 0)
		r.Add(args...)
		if err := logger.Handler().Handle(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	at(slog.LevelInfo, logger, "started")
	at(slog.LevelWarn, logger.With("tick", 7), "two\nlines", "why", "a b")
	at(slog.LevelError, logger.WithGroup("g").With("x", 1), "grouped", "level", 2)
	want := `[2026-02-01 12:00:00] [watcher] [INFO] den: started
[2026-02-01 12:00:00] [watcher] [WARN] den: two
    lines tick=7 why="a b"
[2026-02-01 12:00:00] [watcher] [ERROR] den: grouped g.x=1 g.level=2
`
	for _, name := range []string{"watcher.log", "watcher-current.log"} {
		if got := read(t, dir, name); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	if want := "[12:00:00] started\n"; !strings.HasPrefix(console.String(), want) {
		t.Errorf("%q", console.String())
	}
	if logger.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("debug is logged")
	}
}

func TestDays(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	for day := range 20 {
		log(t, l, noon.AddDate(0, 0, day), fmt.Sprint("day ", day))
	}
	got := names(t, dir)
	want := []string{"watcher-current.log", "watcher.log"}
	for day := 5; day < 19; day++ {
		want = append(want, "watcher.log."+noon.AddDate(0, 0, day).Format("2006-01-02"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, last := range map[string]string{"watcher.log": "den: day 19\n", "watcher.log.2026-02-19": "den: day 18\n"} {
		if text := read(t, dir, name); !strings.HasSuffix(text, last) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %q", name, text)
		}
	}
	// A clock that is set back neither rotates nor loses a line.
	log(t, l, noon, "back")
	if text := read(t, dir, "watcher.log"); strings.Count(text, "\n") != 2 || !slices.Equal(names(t, dir), want) {
		t.Errorf("%q, %v", text, names(t, dir))
	}
}

// A file that an earlier process wrote on another day is rotated too.
func TestDaysOverRestarts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "watcher.log")
	yesterday := noon.AddDate(0, 0, -1)
	if err := errors.Join(os.WriteFile(path, []byte("old\n"), 0o644), os.Chtimes(path, yesterday, yesterday)); err != nil {
		t.Fatal(err)
	}
	log(t, open(t, dir, nil), noon, "new")
	if read(t, dir, "watcher.log.2026-01-31") != "old\n" || strings.Contains(read(t, dir, "watcher.log"), "old") {
		t.Errorf("%v", names(t, dir))
	}
}

func TestSizes(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	large := strings.Repeat("x", 2<<20)
	for range 14 { // two to a file
		log(t, l, noon, large)
	}
	log(t, l, noon, "last")
	want := []string{"watcher-current.log", "watcher-current.log.1", "watcher-current.log.2", "watcher-current.log.3", "watcher-current.log.4", "watcher-current.log.5", "watcher.log"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, name := range want[:6] {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Size() > 5<<20 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
	if got := read(t, dir, "watcher-current.log"); !strings.HasSuffix(got, "den: last\n") {
		t.Errorf("%.100q", got)
	}
}

// Two processes that log to the same files lose no line.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 2 {
		l := open(t, dir, nil)
		wg.Go(func() {
			for n := range 200 {
				log(t, l, noon, fmt.Sprint("writer ", i, " line ", n))
			}
		})
	}
	wg.Wait()
	if got := strings.Count(read(t, dir, "watcher.log"), "\n"); got != 400 {
		t.Errorf("%d lines", got)
	}
}

// What cannot be written is told: to the caller, and once on the console.
func TestFailuresAreTold(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "watcher.log"), 0o600), os.Symlink("/dev/null", filepath.Join(dir, "watcher-current.log"))); err != nil {
		t.Fatal(err)
	}
	var console strings.Builder
	l := open(t, dir, &console)
	for range 3 {
		if err := l.Handler().Handle(t.Context(), slog.NewRecord(noon, slog.LevelInfo, "lost", 0)); err == nil {
			t.Error("no error")
		}
	}
	if got := strings.Count(console.String(), "cannot write the log"); got != 1 || strings.Count(console.String(), "lost") != 3 {
		t.Errorf("%q", console.String())
	}
}
