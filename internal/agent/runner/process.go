package runner

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A Spawner starts processes where the agent lives: on this machine, or in its
// container or pod.
type Spawner interface {
	// Spawn starts a command. The context bounds starting only.
	Spawn(ctx context.Context, c Command) (Process, error)
}

// Command is what is spawned.
type Command struct {
	Argv []string
	Dir  string
	Env  map[string]string // on top of the agent's environment
}

// A Process is a spawned command with pipes.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Signal reaches the process and everything that it started.
	Signal(s os.Signal) error
	// Wait returns when the process has ended; what is left of the processes
	// that it started is killed before. It may be called many times. Stdout
	// and Stderr end then, at the latest.
	Wait() Exit
}

// activity notes when an agent last wrote anything, whatever it was: time
// limits are by silence.
type activity struct {
	at    atomic.Int64 // Unix nanoseconds
	clock func() time.Time
}

func (a *activity) touch()                { a.at.Store(a.clock().UnixNano()) }
func (a *activity) silent() time.Duration { return a.clock().Sub(time.Unix(0, a.at.Load())) }

// Watched returns a Spawner that calls touch whenever something that it spawned
// writes, whatever it is. touch returns at once; it is called concurrently.
func Watched(s Spawner, touch func()) Spawner { return watchedSpawner{Spawner: s, touch: touch} }

type watchedSpawner struct {
	Spawner
	touch func()
}

func (w watchedSpawner) Spawn(ctx context.Context, c Command) (Process, error) {
	p, err := w.Spawner.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	return watchedProcess{Process: p, touch: w.touch}, nil
}

type watchedProcess struct {
	Process
	touch func()
}

func (p watchedProcess) Stdout() io.Reader { return touchingReader{p.Process.Stdout(), p.touch} }
func (p watchedProcess) Stderr() io.Reader { return touchingReader{p.Process.Stderr(), p.touch} }

type touchingReader struct {
	r     io.Reader
	touch func()
}

func (t touchingReader) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	if n > 0 {
		t.touch()
	}
	return n, err
}
