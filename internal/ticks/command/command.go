// Package command runs a command through a spawner to its end, within a time
// limit.
package command

import (
	"cmp"
	"context"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/agent/runner"
)

const (
	// defaultGrace is enough for git to remove its lock files.
	defaultGrace = 5 * time.Second
	// killLimit is how long a killed command may take to end. Only one that the
	// kernel cannot end takes longer.
	killLimit = 30 * time.Second
	// drain is how long the output of a command that has ended may stay open: a
	// process that hid from the spawner holds it.
	drain = 2 * time.Second
)

// Spec is what is run.
type Spec struct {
	Argv  []string
	Dir   string
	Env   map[string]string // on top of what the place has
	Limit time.Duration
	Keep  int           // bytes that are kept of each output; the rest is read and dropped
	Grace time.Duration // how long it may take to end when it is terminated; 0 means 5 s
}

// Result is how a command ended.
type Result struct {
	Code     int    // 128 and the signal's number where a signal ended it; -1 where it is not known
	Reason   string // why it ended, where the code does not tell
	TimedOut bool   // it was ended because of the limit
	Stdout   string
	Stderr   string
	Took     time.Duration
}

// Run runs a command and waits for its end. At the limit, and when the context
// ends, the command and all that it has started are terminated, then killed. A
// command that could not be started is an error, as is the context's end.
func Run(ctx context.Context, s runner.Spawner, spec Spec) (Result, error) {
	begun := time.Now()
	within, cancel := context.WithTimeout(ctx, spec.Limit)
	defer cancel()
	p, err := s.Spawn(within, runner.Command{Argv: spec.Argv, Dir: spec.Dir, Env: spec.Env})
	if err != nil {
		if ctx.Err() == nil && within.Err() != nil {
			return Result{Code: -1, TimedOut: true, Reason: "it was not started in time", Took: time.Since(begun)}, nil
		}
		return Result{Code: -1}, err
	}
	p.Stdin().Close() // Best effort: a command that has ended reads nothing either.
	stdout, stderr := collect(p.Stdout(), spec.Keep), collect(p.Stderr(), spec.Keep)
	exit, stopped := await(within, p, cmp.Or(spec.Grace, defaultGrace))
	r := Result{Code: exit.Code, Reason: exit.Reason, TimedOut: stopped && ctx.Err() == nil}
	draining, stop := context.WithTimeout(context.Background(), drain)
	defer stop()
	r.Stdout, r.Stderr = stdout.end(draining), stderr.end(draining)
	r.Took = time.Since(begun)
	if stopped && ctx.Err() != nil {
		return r, ctx.Err()
	}
	return r, nil
}

// await waits for the process, which is ended when the context is. It reports
// whether that was needed.
func await(ctx context.Context, p runner.Process, grace time.Duration) (exit runner.Exit, stopped bool) {
	ended := make(chan runner.Exit, 1) // room for the one
	go func() { ended <- p.Wait() }()  // ends with the process
	select {
	case exit := <-ended:
		return exit, false
	case <-ctx.Done():
	}
	for _, step := range []struct {
		signal syscall.Signal
		limit  time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, killLimit}} {
		p.Signal(step.signal) // Best effort: it may have ended.
		timer := time.NewTimer(step.limit)
		select {
		case exit := <-ended:
			timer.Stop()
			return exit, true
		case <-timer.C:
		}
	}
	return runner.Exit{Code: -1, Reason: "it was killed and has not ended"}, true
}

// collector reads an output to its end and keeps the beginning.
type collector struct {
	source io.Reader
	done   chan struct{} // closed at the end

	mu   sync.Mutex // guards kept
	kept []byte
}

// collect starts to read. The caller calls end.
func collect(source io.Reader, keep int) *collector {
	c := &collector{source: source, done: make(chan struct{})}
	go c.read(keep) // ends with the output, or when end closes it
	return c
}

func (c *collector) read(keep int) {
	defer close(c.done)
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.source.Read(buffer)
		c.add(buffer[:n], keep)
		if err != nil {
			return
		}
	}
}

func (c *collector) add(part []byte, keep int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, part[:min(len(part), keep-len(c.kept))]...)
}

// end waits for the end of the output, at most for the context's, and closes it.
func (c *collector) end(ctx context.Context) string {
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	if closer, ok := c.source.(io.Closer); ok {
		closer.Close() // Best effort: what matters was read.
		<-c.done       // a pipe that is closed ends its reader
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ToValidUTF8(string(c.kept), "\uFFFD")
}
