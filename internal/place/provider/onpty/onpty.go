// Package onpty runs a program on a terminal of its own and copies bytes and sizes
// between that terminal and a person's streams.
package onpty

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"den/internal/place/provider"
	"den/internal/process/pty"
)

// leaveLimit is how long the program may take to end when it is told to.
const leaveLimit = 5 * time.Second

// Wanted reports whether a person's terminal is streams, not files that a
// program can have.
func Wanted(t provider.Terminal) bool {
	_, in := t.In.(*os.File)
	_, out := t.Out.(*os.File)
	return !in || !out || t.Resizes != nil
}

// Run runs argv until it ends and returns how it did. It is told to end when
// t.In does, or with the context: then how does not matter, and nil is
// returned. A read of t.In that is under way then goes on until the caller ends
// it: nobody else can.
func Run(ctx context.Context, t provider.Terminal, argv, env []string) (*os.ProcessState, error) {
	size := t.Size
	if size.Cols == 0 || size.Rows == 0 {
		size = provider.Size{Cols: provider.DefaultCols, Rows: provider.DefaultRows}
	}
	tty, err := pty.Open(ptySize(size))
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	pid, err := tty.Start(pty.Command{Argv: argv, Env: env})
	if err != nil {
		tty.Close() // Best effort: nothing was written.
		return nil, err
	}
	proc, err := os.FindProcess(pid)
	if err != nil {
		tty.Close() // Best effort, as above.
		return nil, fmt.Errorf("find process %d: %w", pid, err)
	}
	done := make(chan struct{})
	var loops sync.WaitGroup
	loops.Go(func() { show(tty, t) })
	loops.Go(func() { follow(tty, t.Resizes, done) })
	leave := make(chan struct{})
	go func() { // ends with t.In: see above
		typeAll(tty, t)
		close(leave)
	}()
	told := false // owned by the loop below until it has ended
	loops.Go(func() { told = endWhenTold(ctx, proc, leave, done) })
	state, err := proc.Wait()
	close(done)
	tty.SetReadDeadline(time.Now().Add(leaveLimit)) // Best effort: what it left behind must not hold us.
	loops.Wait()
	if cerr := tty.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close the terminal: %w", cerr)
	}
	if told {
		state = nil
	}
	return state, err
}

func ptySize(s provider.Size) pty.Size { return pty.Size{Cols: s.Cols, Rows: s.Rows} }

// show passes on what the program paints, until the terminal is closed.
func show(tty *pty.PTY, t provider.Terminal) {
	buf := make([]byte, 32<<10)
	for {
		n, err := tty.Take(buf)
		if n > 0 {
			_, _ = t.Out.Write(buf[:n]) // Best effort: a person who is gone ends t.In too.
			tty.Handled()
		}
		if err != nil {
			return
		}
	}
}

// typeAll passes on what the person types, until that ends.
func typeAll(tty *pty.PTY, t provider.Terminal) {
	buf := make([]byte, 4096)
	for {
		n, err := t.In.Read(buf)
		if n > 0 {
			if _, werr := tty.Write(buf[:n]); werr != nil {
				return // the program has ended
			}
		}
		if err != nil {
			return
		}
	}
}

// follow passes on the sizes of the person's terminal.
func follow(tty *pty.PTY, sizes <-chan provider.Size, done <-chan struct{}) {
	for {
		select {
		case size, open := <-sizes:
			if !open {
				return
			}
			if size.Cols > 0 && size.Rows > 0 {
				_ = tty.Resize(ptySize(size)) // Best effort: a terminal that is gone has no size.
			}
		case <-done:
			return
		}
	}
}

// endWhenTold tells the program to end when the person has left or the context
// ends, and makes it end if it does not. It reports whether it did so.
func endWhenTold(ctx context.Context, proc *os.Process, leave, done <-chan struct{}) bool {
	select {
	case <-ctx.Done():
	case <-leave:
	case <-done:
		return false
	}
	_ = proc.Signal(syscall.SIGTERM) // Best effort: it may have ended.
	select {
	case <-done:
	case <-time.After(leaveLimit):
		_ = proc.Kill() // Best effort, as above.
	}
	return true
}
