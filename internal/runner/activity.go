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

// watchedSpawner notes the activity of what it spawns.
type watchedSpawner struct {
	Spawner
	activity *activity
}

func (w watchedSpawner) Spawn(ctx context.Context, c Command) (Process, error) {
	p, err := w.Spawner.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	return watchedProcess{Process: p, activity: w.activity}, nil
}

type watchedProcess struct {
	Process
	activity *activity
}

func (p watchedProcess) Stdout() io.Reader { return touchingReader{p.Process.Stdout(), p.activity} }
func (p watchedProcess) Stderr() io.Reader { return touchingReader{p.Process.Stderr(), p.activity} }

type touchingReader struct {
	r        io.Reader
	activity *activity
}

func (t touchingReader) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	if n > 0 {
		t.activity.touch()
	}
	return n, err
}
