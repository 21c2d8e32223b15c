package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/process/pty"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/testkit/need"
)

// stubborn is a program that outlives its terminal.
func stubborn(t *testing.T) []string {
	return []string{"sh", "-c", "trap '' HUP; echo up; while :; do read x; done <" + fifo(t)}
}

// A copy of a Home has the same ids and no hosts: its sessions are lost. Neither
// looking at them nor killing them reaches the sessions of the original.
func TestCopiedHomeDoesNotReachTheOriginal(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, stubborn(t)...)
	waitFor(t, s, "up")
	twin := home.Home{Path: filepath.Join(t.TempDir(), "copy")}
	if err := os.CopyFS(twin.Path, os.DirFS(s.Dir.Home.Path)); err != nil {
		t.Fatal(err)
	}
	in := session.In(twin.Dir(s.Dir.ID), session.Options{Version: "test"})
	status, err := in.Status(t.Context())
	if err != nil || status.Status != string(home.Lost) || status.LeftRunning != 0 {
		t.Fatalf("status of the copy: %+v, %v", status, err)
	}
	if killed, err := in.Kill(t.Context(), time.Second); err != nil || killed.Killed != 0 {
		t.Errorf("kill the copy: %+v, %v", killed, err)
	}
	if _, err := twin.Collect(time.Now().Add(time.Hour), home.GCOptions{}); err != nil {
		t.Errorf("collect the copy: %v", err)
	}
	if status, err := s.Status(t.Context()); err != nil || status.Status != string(home.Running) {
		t.Errorf("the original: %+v, %v", status, err)
	}
}

// Nor does killing by force, if somebody holds the lock of the copy so that its
// session seems to run: the record names the original's host.
func TestForcedKillOfACopySparesTheOriginal(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, "cat")
	twin := home.Home{Path: filepath.Join(t.TempDir(), "copy")}
	if err := os.CopyFS(twin.Path, os.DirFS(s.Dir.Home.Path)); err != nil {
		t.Fatal(err)
	}
	copied := twin.Dir(s.Dir.ID)
	lock, err := filelock.Try(filepath.Join(copied.Path, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	// Nobody answers where the copy's socket should be.
	record, err := copied.Load()
	if err != nil {
		t.Fatal(err)
	}
	record.Socket = filepath.Join(filepath.Dir(m.Socket), home.RunName("nobody"))
	if err := copied.Save(record); err != nil {
		t.Fatal(err)
	}
	in := session.In(copied, session.Options{Version: "test"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if killed, err := in.ForceKill(ctx, 0); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("kill the copy: %+v, %v", killed, err)
	}
	if status, err := s.Status(t.Context()); err != nil || status.Status != string(home.Running) {
		t.Errorf("the original: %+v, %v", status, err)
	}
}

// Looking at a lost session ends nothing. It tells how many processes are left.
func TestLookingAtALostSessionEndsNothing(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, stubborn(t)...)
	waitFor(t, s, "up")
	killHost(t, s, m)
	status, err := s.Status(t.Context())
	if err != nil || status.Status != string(home.Lost) || status.LeftRunning != 1 {
		t.Errorf("status: %+v, %v", status, err)
	}
	if left := pty.Marked(home.ProgramMark + "=" + s.Dir.ID); len(left) != 1 {
		t.Errorf("processes %v are left, want one", left)
	}
}

// What a dead host left is ended when another session takes its name.
func TestNewSessionEndsWhatALostOneLeft(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, stubborn(t)...)
	waitFor(t, s, "up")
	killHost(t, s, m)
	next, _, err := session.Create(t.Context(), s.Dir.Home, home.Spec{
		Name: "t", Command: []string{"cat"}, Cwd: "/", Env: os.Environ(), Term: session.DefaultTerm, Cols: 80, Rows: 24, RecordInput: home.RecordAuto,
	}, session.Options{Version: "test", Binary: den})
	if err != nil {
		t.Fatal(err)
	}
	if left := pty.Marked(home.ProgramMark + "=" + s.Dir.ID); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := next.Kill(t.Context(), time.Second); err != nil {
		t.Error(err)
	}
}

// A session whose Home was deleted is ended: no verb can find it. An idle host
// hears of it.
func TestDeletedHomeEndsItsSessions(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"busy": "while :; do echo tick; sleep 0.1; done",
		"idle": "cat",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deleteHome(t, script)
		})
	}
}

// atRest returns when a host has not run for longer than it looks around after
// something happened: from then on it sleeps for minutes.
func atRest(t *testing.T, pid int) {
	t.Helper()
	const rest = 4 * time.Second
	last, since := "", time.Now()
	for begun := since; time.Since(since) < rest; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("the host %d does not rest", pid)
		}
		var now string
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range stats {
			raw, _ := os.ReadFile(file) // Best effort: a thread may end.
			if i := strings.Index(string(raw), "voluntary_ctxt_switches"); i >= 0 {
				now += string(raw[i:])
			}
		}
		if now != last {
			last, since = now, time.Now()
		}
	}
}

func deleteHome(t *testing.T, script string) {
	if runtime.GOOS != "linux" {
		need.Feature(t, "only Linux tells an idle host of deletions")
	}
	root := home.Home{Path: filepath.Join(t.TempDir(), "home")}
	s, m, err := session.Create(t.Context(), root, home.Spec{
		Name: "t", Command: []string{"sh", "-c", script}, Cwd: "/", Env: os.Environ(),
		Term: session.DefaultTerm, Cols: 80, Rows: 24, RecordInput: home.RecordAuto,
	}, session.Options{Version: "test", Binary: den})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := s.Dir.Gone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if script == "cat" {
		atRest(t, m.HostPID)
	}
	if err := os.RemoveAll(root.Path); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatalf("the host %d still runs", m.HostPID)
	}
	if left := pty.Marked(home.ProgramMark + "=" + s.Dir.ID); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}
