package subprocess_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"den/internal/base/filelock"
	"den/internal/place/provider"
	"den/internal/place/provider/subprocess"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/session/home"
)

// TestMain lets the test binary be the shim, as den is: so the tests run what
// they were compiled with, race detector and all.
func TestMain(m *testing.M) {
	if os.Getenv(home.HostMark) != "" && len(os.Args) > 1 && os.Args[1] == "shim" {
		if err := shim.Main(context.Background(), "test", os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
		}
		// Not os.Exit: with the race detector that sleeps for a second. What
		// it found is in the shim's log by now, see quiet.
		syscall.Exit(0)
	}
	if len(os.Args) > 4 && os.Args[1] == "start-and-exit" {
		os.Exit(startAndExit(os.Args[2], os.Args[3], os.Args[4:]))
	}
	os.Exit(m.Run())
}

// startAndExit is a keeper that starts one session and goes.
func startAndExit(dir, name string, argv []string) int {
	p, err := subprocess.Open(subprocess.Options{Dir: dir, Owner: "me", Version: "test"})
	if err == nil {
		err = p.Start(context.Background(), name, provider.Config{Argv: argv, WorkDir: "/"})
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// quiet fails the test if a shim under dir complained, or raced.
func quiet(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*", "sessions", "*", "shim.log"))
	if err != nil {
		t.Error(err)
	}
	for _, path := range logs {
		session := filepath.Dir(path)
		lock := filepath.Join(filepath.Dir(filepath.Dir(session)), "locks", filepath.Base(session))
		waiting, stop := context.WithTimeout(context.Background(), patience)
		if gone, err := filelock.Released(waiting, lock, 0); err == nil {
			select {
			case <-gone: // until then it writes
			case <-waiting.Done():
				t.Errorf("the shim of %s does not end", session)
			}
		}
		stop()
		if raw, err := os.ReadFile(path); err != nil || len(raw) > 0 {
			t.Errorf("%s: %s, %v", path, raw, err)
		}
	}
}

// patience is for what must happen, on a machine out of breath.
const patience = 2 * time.Minute

// bench is one test's provider.
type bench struct {
	*testing.T
	*subprocess.Provider
	options subprocess.Options
	work    string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, work: t.TempDir(), options: subprocess.Options{
		Dir: t.TempDir(), Owner: "me", Version: "test", Grace: time.Second,
	}}
	t.Cleanup(func() { quiet(t, b.options.Dir) })
	b.Provider = b.open()
	return b
}

// open opens the place once more, as another process would.
func (b *bench) open() *subprocess.Provider {
	b.Helper()
	p, err := subprocess.Open(b.options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { b.stopAll(p) })
	return p
}

func (b *bench) stopAll(p *subprocess.Provider) {
	names, err := p.ListRunning(context.Background(), "")
	if err != nil {
		b.Logf("clean up: %v", err)
	}
	for _, name := range names {
		if err := p.Stop(context.Background(), name); err != nil {
			b.Errorf("clean up: %v", err)
		}
	}
}

func (b *bench) config(argv ...string) provider.Config {
	return provider.Config{Argv: argv, WorkDir: b.work}
}

func (b *bench) start(name string, argv ...string) {
	b.Helper()
	if err := b.Start(b.Context(), name, b.config(argv...)); err != nil {
		b.Fatalf("start %s: %v", name, err)
	}
}

// shell starts a script.
func (b *bench) shell(name, script string) {
	b.Helper()
	b.start(name, "/bin/sh", "-c", script)
}

func (b *bench) path(name string) string { return filepath.Join(b.work, name) }

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) eventually(what string, holds func() bool) {
	b.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func (b *bench) peek(name string, n int) string {
	b.Helper()
	text, err := b.Peek(b.Context(), name, n)
	b.ok(err)
	return text
}

func (b *bench) shows(name, want string) {
	b.Helper()
	got := ""
	b.eventually("the text "+want, func() bool { got = b.peek(name, 0); return got == want })
}

func (b *bench) running(name string) bool {
	b.Helper()
	r, err := b.IsRunning(b.Context(), name)
	b.ok(err)
	return r
}

func (b *bench) ends(name string) {
	b.Helper()
	b.eventually(name+" ends", func() bool { return !b.running(name) })
}
