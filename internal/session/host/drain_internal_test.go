package host

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/process/tree"
)

// TestDrainWaitsForTheReader: what a program printed before its end is read,
// also where the reader takes longer than drainQuiet.
func TestDrainWaitsForTheReader(t *testing.T) {
	tty, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	pid, err := tty.Start(pty.Command{Argv: []string{"printf", "last words"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	h := &Host{tty: tty, core: &core{}, tree: &tree.Tree{}}
	read, drained := make(chan struct{}), make(chan struct{})
	go func() { defer close(drained); h.drainTerminal(read) }()
	select {
	case <-drained:
		t.Fatal("it gave up what nobody had read yet")
	case <-time.After(5 * drainQuiet):
	}
	for got, buf := "", make([]byte, 100); ; {
		n, err := tty.Take(buf)
		got += string(buf[:n])
		if errors.Is(err, io.EOF) {
			if got != "last words" {
				t.Errorf("read %q", got)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tty.Handled()
	}
	close(read)
	<-drained
}
