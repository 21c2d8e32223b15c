package supervise

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// CatchSignals makes this process fit to hold a tree. The channel receives
// SIGTERM and SIGINT, by which the system asks a process to end. Signals of
// terminals and alarms are caught and dropped, not ignored: exec hands an
// ignored signal on, and then no interrupt could reach the program.
func CatchSignals() chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	asked := make(chan os.Signal, 2) // the first asks, the second hurries
	CatchAgain(asked)
	return asked
}

// CatchAgain has the channel receive SIGTERM and SIGINT after signal.Stop.
func CatchAgain(asked chan os.Signal) { signal.Notify(asked, unix.SIGTERM, unix.SIGINT) }

// EndOnSignal calls end at the first signal, and again, with no grace period, at
// the second. It returns when stop is closed and its calls have returned.
func EndOnSignal(asked <-chan os.Signal, stop <-chan struct{}, grace time.Duration, end func(by os.Signal, grace time.Duration)) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for _, grace := range []time.Duration{grace, 0} {
		select {
		case by := <-asked:
			calls.Go(func() { end(by, grace) })
		case <-stop:
			return
		}
	}
	<-stop
}

// UntilSignalled is the life of a process that ends when it is told to. A
// terminal that hangs up does not end it.
func UntilSignalled() (context.Context, context.CancelFunc) {
	signal.Ignore(unix.SIGHUP)
	return signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
}
