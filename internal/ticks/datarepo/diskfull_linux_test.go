package datarepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/testkit/need"
	"den/internal/ticks/datarepo"
)

// A full disk is told of, and what was there stays.
func TestDiskFull(t *testing.T) {
	mnt := t.TempDir()
	if err := syscall.Mount("tmpfs", mnt, "tmpfs", 0, "size=64k"); err != nil {
		need.Feature(t, "cannot mount a tmpfs of 64 kB (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(mnt, syscall.MNT_DETACH) })
	r := openIn(t, mnt)
	if err := errors.Join(r.SaveState(datarepo.State{TickCount: 7}), r.Write("system/prompt.md", []byte("prompt"))); err != nil {
		t.Fatal(err)
	}
	write(t, r, "system/notifications/a.txt", "hello")
	f, err := os.Create(filepath.Join(mnt, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	_, nerr := r.Notify(time.Now(), "x")
	_, cerr := r.NotifyCrash(t.Context(), time.Now(), datarepo.Crash{Text: "x"})
	for what, err := range map[string]error{
		"state": r.SaveState(datarepo.State{TickCount: 8}), "notify": nerr, "crash": cerr,
		"pause": r.Pause(datarepo.Pause{Why: "x"}), "trigger": r.RequestTick("x"),
		"edit": r.EditState(t.Context(), func(s *datarepo.State) error { s.TickCount++; return nil }),
		"live": r.SetLiveStatus(datarepo.LiveStatus{Tick: 1}),
	} {
		if !errors.Is(err, syscall.ENOSPC) || fault.KindOf(err) != fault.Storage {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s, err := r.State(); err != nil || s.TickCount != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	in, err := r.Notifications(time.Now())
	if err != nil || len(in.Ready) != 1 {
		t.Fatalf("%+v, %v", in, err)
	}
	if removed, err := r.AcknowledgeNotification(in.Ready[0].ID); !removed || err != nil {
		t.Errorf("what was delivered cannot be acknowledged: %v, %v", removed, err)
	}
	if err := os.Remove(filepath.Join(mnt, "ballast")); err != nil {
		t.Fatal(err)
	}
	if err := r.SaveState(datarepo.State{TickCount: 8}); err != nil {
		t.Error(err)
	}
}
