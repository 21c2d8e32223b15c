package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// interruptGrace is how long a verb may take to clean up after a signal, and to
// print what it has. Then the process ends, whatever the verb waits for.
const interruptGrace = 2 * time.Second

// verbStack is the stack that short verbs get along with.
const verbStack = 20 << 10

// looks are the verbs that only look. They mostly take less than shortVerb.
var looks = []string{"version", "snapshot", "status", "ls", "history"}

const shortVerb = 5 * time.Millisecond

// signalled is the cause of a context that a signal cancelled.
type signalled syscall.Signal

func (s signalled) Error() string { return "interrupted by " + unix.SignalName(syscall.Signal(s)) }

// status is the exit code of a process that the signal ended, as shells give it.
func (s signalled) status() int { return 128 + int(s) }

// untilSignalled returns a context that the first signal cancels, and a function
// that ends the wait for it. The next signal has its usual effect, and so has
// one that comes within the first moments of a verb that can leave nothing behind:
// to wait for signals takes a thread, and a tenth of the time of such a verb.
func untilSignalled(verb string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1) // the second has no taker, and needs none
	listen := func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalled(s.(syscall.Signal)))
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}
	notify := func() { signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) }
	if slices.Contains(looks, verb) {
		ended := make(chan struct{})
		start := time.AfterFunc(shortVerb, func() {
			defer close(ended)
			notify()
			listen()
		})
		return ctx, func() {
			cancel(nil)
			if !start.Stop() {
				<-ended
			}
		}
	}
	notify()
	var listening sync.WaitGroup
	listening.Go(listen)
	return ctx, func() {
		cancel(nil)
		listening.Wait()
	}
}

// execute runs the command. If a signal comes, it returns at the latest after
// interruptGrace: a verb that is still at work then, because it waits for what
// cannot be cancelled, ends with the process.
func execute(ctx context.Context, root *cobra.Command) error {
	ended := make(chan error, 1)
	go func() {
		growStack()
		ended <- root.ExecuteContext(ctx)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(interruptGrace):
		return ctx.Err()
	}
}

// growStack grows the goroutine's stack to what a verb needs while there is
// little on it to copy. To grow it in steps takes 4 % of the time of a short
// verb.
//
//go:noinline
func growStack() {
	var room [verbStack]byte
	runtime.KeepAlive(&room)
}

// readStdin reads all of stdin, or one byte more than limit.
func (a *app) readStdin(ctx context.Context, limit int64) ([]byte, error) {
	var raw []byte
	err := a.whileReading(ctx, func(stdin io.Reader) (err error) {
		raw, err = io.ReadAll(io.LimitReader(stdin, limit+1))
		return err
	})
	return raw, err
}

// whileReading calls read with stdin and returns when it does, or when the
// context is cancelled. A read cannot be cancelled: its goroutine is then left to
// the end of the process, and nothing may use what it reads.
func (a *app) whileReading(ctx context.Context, read func(io.Reader) error) error {
	a.wantInput()
	done := make(chan error, 1)
	go func() { done <- read(a.stdin) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("read stdin: %w", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
