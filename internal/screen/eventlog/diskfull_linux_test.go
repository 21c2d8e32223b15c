package eventlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/base/fault"
)

// TestDiskFull fills a real, tiny file system, and makes room again.
func TestDiskFull(t *testing.T) {
	mnt := t.TempDir()
	if err := syscall.Mount("tmpfs", mnt, "tmpfs", 0, "size=64k"); err != nil {
		need.Feature(t, "cannot mount a tmpfs of 64 kB (needs root): %v; TestPauseAndResume and TestUnreliableDisk simulate it", err)
	}
	t.Cleanup(func() { syscall.Unmount(mnt, syscall.MNT_DETACH) })
	dir := filepath.Join(mnt, "log")
	ballast := filepath.Join(mnt, "ballast")
	put(t, ballast, make([]byte, 40<<10))

	c := &clock{}
	o := options(c)
	var screen []byte
	o.Repaint = func() []byte { return screen }
	w := create(t, dir, o)
	var said []error
	line := bytes.Repeat([]byte("z"), 900)
	for range 100 {
		c.t += 10 * time.Millisecond
		w.Append("o", line)
		if err := w.Flush(); err != nil {
			said = append(said, err)
		}
		screen = line
		if err := w.RotateIfFull(); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) != 1 || !errors.Is(said[0], syscall.ENOSPC) || fault.KindOf(said[0]) != fault.Storage {
		t.Fatalf("said %v, want once that the disk is full", said)
	}
	s := w.Stats()
	if !strings.Contains(s.Paused, "no space left") || s.LostEvents == 0 {
		t.Errorf("stats %+v", s)
	}
	// While it is full, the log is whole up to there: no torn line.
	before := whole(t, dir, 0)
	if file := read(t, segmentFiles(t, dir)[0]); file[len(file)-1] != '\n' {
		t.Error("a torn line was left")
	}
	if n := uint64(len(before)); n+s.LostEvents != 100 {
		t.Errorf("%d recorded and %d lost, want 100", n, s.LostEvents)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	c.t += 2 * time.Second
	if err := w.Retry(); err != nil {
		t.Fatal(err)
	}
	w.Append("o", []byte("recorded again"))
	w.Append("x", []byte("0"))
	closed(t, w)
	evs, missing := collect(t, open(t, dir), 0)
	tail := evs[len(before):]
	if len(missing) != 1 || len(tail) != 3 || tail[0].Code != "n" || tail[0].Seq != 101 || string(tail[1].Data) != "recorded again" {
		t.Errorf("missing %v, tail %v", missing, tail)
	}
	for _, f := range segmentFiles(t, dir) {
		if err := strictV3(read(t, f)); err != nil {
			t.Error(err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.tmp"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
