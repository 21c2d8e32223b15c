package runner

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

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
