//go:build linux

package pty_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"den/internal/base/fault"
	"den/internal/process/pty"
)

func TestOpenChecksTheSize(t *testing.T) {
	for _, size := range []pty.Size{{}, {Cols: 80}, {Cols: -1, Rows: 24}, {Cols: 1 << 16, Rows: 24}} {
		if p, err := pty.Open(size); fault.KindOf(err) != fault.Usage {
			t.Errorf("Open(%v) = %v, %v; want a usage error", size, p, err)
		}
	}
}

func TestTakeReadsOn(t *testing.T) {
	p := open(t)
	// Raw, so that no carriage return is added.
	pid, err := p.Start(pty.Command{Argv: []string{"sh", "-c", "stty raw -echo; head -c 8000 /dev/zero | tr '\\0' x; read x"}})
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Wait4(pid, nil, 0, nil)
	defer syscall.Kill(pid, syscall.SIGKILL)
	for end := time.Now().Add(patience); !p.Probe().OutputPending; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no output: %+v", p.Probe())
		}
	}
	buf := make([]byte, 64<<10)
	total, reads := 0, 0
	for total < 8000 {
		n, err := readChunk(p, buf)
		if err != nil {
			t.Fatal(err)
		}
		total += n
		reads++
	}
	if total != 8000 || reads > 2 {
		t.Errorf("%d bytes in %d reads; want 8000 in one or two", total, reads)
	}
}

func TestTakeIsExactToTheEnd(t *testing.T) {
	p := open(t)
	pid, err := p.Start(pty.Command{Argv: []string{"sh", "-c", "stty -opost; seq 1 200000"}})
	if err != nil {
		t.Fatal(err)
	}
	out := readAll(t, p)
	syscall.Wait4(pid, nil, 0, nil)
	if len(out) != 1288895 || !strings.HasSuffix(out, "\n200000\n") {
		t.Errorf("read %d bytes, want 1288895, up to the last line", len(out))
	}
	if n, err := readChunk(p, make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v; want 0, EOF", n, err)
	}
}

func TestTakeDeadlineAndClose(t *testing.T) {
	x := start(t, "sleep", "1000")
	p := open(t)
	pid, err := p.Start(pty.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Wait4(pid, nil, 0, nil)
	defer syscall.Kill(pid, syscall.SIGKILL)
	if err := p.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := readChunk(p, make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("at the deadline: %v", err)
	}
	p.SetReadDeadline(time.Time{})
	got := make(chan error)
	go func() {
		_, err := readChunk(p, make([]byte, 10))
		got <- err
	}()
	p.Close()
	if err := <-got; !errors.Is(err, os.ErrClosed) {
		t.Errorf("at Close: %v", err)
	}
	if _, _, err := p.Echo(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Echo after Close: %v", err)
	}
	if err := x.p.Resize(pty.Size{Cols: 10, Rows: 5}); err != nil {
		t.Error(err)
	}
}

func TestTakeAllocatesNothing(t *testing.T) {
	p := open(t)
	buf := make([]byte, 4096)
	// The terminal echoes what is written to it.
	if n := testing.AllocsPerRun(100, func() {
		if _, err := p.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := readChunk(p, buf); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations a chunk", n)
	}
}

func TestResizeTellsTheProgram(t *testing.T) {
	t.Parallel()
	x := start(t, "bash", "--norc", "-c", `trap 'stty size' WINCH; stty size; while :; do read -t 1 x; done`)
	x.untilOutput(`24 80\r\n`)
	if err := x.p.Resize(pty.Size{Cols: 132, Rows: 43}); err != nil {
		t.Fatal(err)
	}
	x.untilOutput(`43 132\r\n`)
	if size, err := x.p.Size(); err != nil || size != (pty.Size{Cols: 132, Rows: 43}) {
		t.Errorf("Size = %v, %v", size, err)
	}
}

// inherit makes a file of the master's descriptor as a new process image finds it.
func inherit(t *testing.T, p *pty.PTY) *os.File {
	t.Helper()
	raw, err := p.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var f *os.File
	raw.Control(func(fd uintptr) {
		var dup int
		if dup, err = unix.Dup(int(fd)); err == nil {
			f = os.NewFile(uintptr(dup), "inherited")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFromFileTakesOver(t *testing.T) {
	t.Parallel()
	p := open(t)
	pid, err := p.Start(pty.Command{Argv: []string{"cat"}, Env: testEnv(t)})
	if err != nil {
		t.Fatal(err)
	}
	q, err := pty.FromFile(inherit(t, p))
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	q.SetRoot(pid)
	x := &term{t: t, p: q, pid: pid, done: make(chan struct{})}
	go x.read()
	t.Cleanup(x.close)
	x.untilState(pty.Ready)
	x.write("hello\r")
	x.untilOutput(`hello\r\nhello\r\n`)
	x.untilState(pty.Ready)
}

func TestFromFileRefusesWhatIsNoMaster(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := pty.FromFile(f); fault.KindOf(err) != fault.Usage {
		t.Errorf("FromFile(/dev/null) = %v, want a usage error", err)
	}
}

// Any goroutine may ask at any time, and Close may come in between.
func TestQuestionsRaceWithClose(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := open(t)
		pid, err := p.Start(pty.Command{Argv: []string{"cat"}, Env: testEnv(t)})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 5 {
					p.Probe()
					p.Echo()
					p.Resize(pty.Size{Cols: 90, Rows: 30})
					p.SetRoot(pid)
				}
			})
		}
		wg.Go(func() { readChunk(p, make([]byte, 100)) })
		wg.Go(func() { p.Close() })
		wg.Wait()
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
	}
}

func BenchmarkProbe(b *testing.B) {
	p, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	pid, err := p.Start(pty.Command{Argv: []string{"cat"}})
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Wait4(pid, nil, 0, nil)
	defer syscall.Kill(pid, syscall.SIGKILL)
	for p.Probe().State != pty.Ready {
		time.Sleep(time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := p.Probe(); r.State != pty.Ready {
			b.Fatal(r)
		}
	}
}

// What the host has read and not yet taken in is on no queue of the kernel,
// and the program is not to be called ready before it.
func TestTakenOutputIsPending(t *testing.T) {
	p := open(t)
	pid, err := p.Start(pty.Command{Argv: []string{"bash", "--norc", "-c", "echo question; read -r answer"}})
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Wait4(pid, nil, 0, nil)
	defer syscall.Kill(pid, syscall.SIGKILL)
	for got, buf := "", make([]byte, 100); got != "question\r\n"; {
		n, err := p.Take(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
		if got != "question\r\n" {
			p.Handled()
		}
	}
	probeUntil := func(what string, cond func(pty.Readiness) bool) {
		t.Helper()
		for end := time.Now().Add(patience); !cond(p.Probe()); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never %s: %+v", what, p.Probe())
			}
		}
	}
	probeUntil("pending", func(r pty.Readiness) bool {
		if r.State == pty.Ready {
			t.Fatalf("ready while its output is not handled: %+v", r)
		}
		return r.OutputPending
	})
	p.Handled()
	probeUntil("ready", func(r pty.Readiness) bool { return r.State == pty.Ready })
}
