package native_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/process/pty"
	"den/internal/session/home"
	"den/internal/testkit/providertest"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

func newProvider(t *testing.T) *native.Provider {
	t.Helper()
	p := open(t, home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true}, "city")
	t.Cleanup(func() {
		ctx := context.Background() // the test's own has ended
		names, err := p.ListRunning(ctx, "")
		if err != nil {
			t.Errorf("clean up: %v", err)
		}
		for _, name := range names {
			if err := p.Stop(ctx, name); err != nil {
				t.Errorf("clean up: %v", err)
			}
		}
	})
	return p
}

func start(t *testing.T, p *native.Provider, name string, argv ...string) {
	t.Helper()
	if err := p.Start(t.Context(), name, provider.Config{Argv: argv, WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func ended(t *testing.T, p *native.Provider, name string) {
	t.Helper()
	eventually(t, name+" ends", func() bool {
		running, err := p.IsRunning(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return !running
	})
}

// record is that of the newest session of a name.
func record(t *testing.T, p *native.Provider, ref string) (home.Dir, *home.Manifest) {
	t.Helper()
	d, err := p.Home.Find(ref)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	return d, m
}

// TestKilledHost: a host that dies without a word is no running session, and
// what it leaves behind is ended.
func TestKilledHost(t *testing.T) {
	p := newProvider(t)
	told, err := providertest.WatchEnds(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(t.TempDir(), "begun")
	start(t, p, "w", "/bin/sh", "-c", "echo printed; trap '' HUP; setsid sleep 1000 & echo > "+begun+"; wait")
	eventually(t, "it begins", func() bool { _, err := os.Stat(begun); return err == nil })
	eventually(t, "its text is recorded", func() bool {
		text, err := p.Peek(t.Context(), "w", 0)
		if err != nil {
			t.Fatal(err)
		}
		return text == "printed"
	})
	if err := p.SetMeta(t.Context(), "w", "k", "v"); err != nil {
		t.Fatal(err)
	}
	d, m := record(t, p, "city.w")
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-told:
		if name != "w" {
			t.Errorf("told of %q", name)
		}
	case <-time.After(patience):
		t.Fatal("not told that the host was killed")
	}
	ended(t, p, "w")
	if e, err := p.Exit(t.Context(), "w"); err != nil || e == nil || e.Code != -1 {
		t.Errorf("Exit = %v, %v, want code -1: nobody knows", e, err)
	}
	if text, err := p.Peek(t.Context(), "w", 0); err != nil || text != "printed" {
		t.Errorf("Peek = %q, %v", text, err)
	}
	if v, err := p.GetMeta(t.Context(), "w", "k"); err != nil || v != "v" {
		t.Errorf("GetMeta = %q, %v", v, err)
	}
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
		t.Errorf("after Stop processes %v are left", left)
	}
}

// TestLeftBehind: what outlives a command that ended by itself goes with Stop,
// and before the next one of that name comes.
func TestLeftBehind(t *testing.T) {
	for what, end := range map[string]func(*native.Provider) error{
		"Stop": func(p *native.Provider) error { return p.Stop(t.Context(), "w") },
		"Start": func(p *native.Provider) error {
			return p.Start(t.Context(), "w", provider.Config{Argv: []string{"/bin/cat"}, WorkDir: t.TempDir()})
		},
	} {
		p := newProvider(t)
		begun := filepath.Join(t.TempDir(), "begun")
		daemon := "setsid sh -c 'echo > " + begun + "; exec sleep 1000' >/dev/null 2>&1 </dev/null &"
		start(t, p, "w", "/bin/sh", "-c", daemon+" until [ -e "+begun+" ]; do sleep 0.01; done")
		ended(t, p, "w")
		d, _ := record(t, p, "city.w")
		left := pty.Marked(home.ProgramMark + "=" + d.ID)
		if len(left) != 1 {
			t.Fatalf("%s: processes %v are left, want one", what, left)
		}
		if err := end(p); err != nil {
			t.Fatal(err)
		}
		if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
			t.Errorf("after %s processes %v are left", what, left)
		}
	}
}

// TestKeepsOneBefore: a crash loop does not fill the disk.
func TestKeepsOneBefore(t *testing.T) {
	p := newProvider(t)
	for range 5 {
		start(t, p, "w", "/bin/false")
		ended(t, p, "w")
	}
	all, err := p.Home.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 {
		t.Errorf("after five starts there are %d records, want the last two", len(all))
	}
}

// TestPeoplesSessions: a Home may hold others' sessions, even by a name of ours.
func TestPeoplesSessions(t *testing.T) {
	p := newProvider(t)
	if out, err := exec.Command(den, "--home", p.Home.Path, "new", "city.w", "cat").CombinedOutput(); err != nil {
		t.Fatalf("den new: %v\n%s", err, out)
	}
	defer exec.Command(den, "--home", p.Home.Path, "kill", "city.w").Run() // Best effort.
	ctx := t.Context()
	if running, err := p.IsRunning(ctx, "w"); err != nil || running {
		t.Errorf("IsRunning = %v, %v", running, err)
	}
	if names, err := p.ListRunning(ctx, ""); err != nil || len(names) > 0 {
		t.Errorf("ListRunning = %q, %v", names, err)
	}
	if err := p.Stop(ctx, "w"); err != nil {
		t.Error(err)
	}
	if _, err := p.GetMeta(ctx, "w", "k"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("GetMeta = %v", err)
	}
	if err := p.Start(ctx, "w", provider.Config{Argv: []string{"cat"}, WorkDir: t.TempDir()}); fault.KindOf(err) != fault.Busy {
		t.Errorf("Start beside a person's session = %v, want busy", err)
	}
	if _, m := record(t, p, "city.w"); !m.Status.Active() {
		t.Error("the person's session was ended")
	}
}

// TestDamagedRecord: what cannot be read may run.
func TestDamagedRecord(t *testing.T) {
	p := newProvider(t)
	start(t, p, "w", "cat")
	d, _ := record(t, p, "city.w")
	path := filepath.Join(d.Path, "session.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.IsRunning(t.Context(), "w"); err == nil {
		t.Error("IsRunning: no error")
	}
	if _, err := p.ListRunning(t.Context(), ""); err == nil {
		t.Error("ListRunning: no error")
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBytes: metadata is kept to the byte, whatever JSON can hold.
func TestBytes(t *testing.T) {
	p := newProvider(t)
	start(t, p, "w", "cat")
	for _, value := range []string{"\xff\x00\xfe", "text", "\x00", "\xff"} {
		if err := p.SetMeta(t.Context(), "w", "k", value); err != nil {
			t.Fatal(err)
		}
		if got, err := p.GetMeta(t.Context(), "w", "k"); err != nil || got != value {
			t.Errorf("GetMeta = %q, %v, want %q", got, err, value)
		}
	}
	if err := p.RemoveMeta(t.Context(), "w", "k"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.GetMeta(t.Context(), "w", "k"); err != nil || got != "" {
		t.Errorf("GetMeta after RemoveMeta = %q, %v", got, err)
	}
}

// TestReservedEnvironment: by these variables a session's processes are found.
func TestReservedEnvironment(t *testing.T) {
	p := newProvider(t)
	for _, k := range []string{home.HostMark, home.ProgramMark} {
		c := provider.Config{Argv: []string{"cat"}, WorkDir: t.TempDir(), Env: map[string]string{k: "x"}}
		if err := p.Start(t.Context(), "w", c); fault.KindOf(err) != fault.Usage {
			t.Errorf("Start with %s = %v, want usage", k, err)
		}
	}
}

// TestUpgradeBetween: a host that replaces its binary is the same session.
func TestUpgradeBetween(t *testing.T) {
	p := newProvider(t)
	start(t, p, "w", "/bin/cat")
	for i := range 3 {
		if out, err := exec.Command(den, "--home", p.Home.Path, "host", "upgrade", "city.w").CombinedOutput(); err != nil {
			t.Fatalf("upgrade: %v\n%s", err, out)
		}
		if running, err := p.IsRunning(t.Context(), "w"); err != nil || !running {
			t.Fatalf("after %d upgrades IsRunning = %v, %v", i+1, running, err)
		}
		if err := p.Nudge(t.Context(), "w", "hello"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "cat answers", func() bool {
		text, err := p.Peek(t.Context(), "w", 0)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Equal(strings.Split(text, "\n"), slices.Repeat([]string{"hello"}, 6)) // typed and answered
	})
}

// TestUnansweredNudge: a host that is killed before its answer is here may have
// typed. That its session is not running says nothing about that.
func TestUnansweredNudge(t *testing.T) {
	p := newProvider(t)
	start(t, p, "w", "cat")
	_, m := record(t, p, "city.w")
	providertest.LoseAnswer(t, m.Socket, func() {
		if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	err := p.Nudge(t.Context(), "w", "once")
	if fault.KindOf(err) != fault.NotRunning || !errors.Is(err, provider.ErrUnanswered) {
		t.Errorf("Nudge = %v (kind %q), want not_running that wraps ErrUnanswered", err, fault.KindOf(err))
	}
}
