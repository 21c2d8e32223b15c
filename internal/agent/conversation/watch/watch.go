// Package watch has what state sources share. It reads a state again when
// something happens, or keeps a connection to a server that pushes it, and
// reports changes.
package watch

import (
	"context"
	"reflect"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/wake"
)

// Options says what is read and when.
type Options struct {
	// Read returns the state now. It is called from one goroutine and from
	// State, perhaps at once.
	Read func(ctx context.Context) (conversation.State, error)
	// Dir tells when the state should be read again; or nil. The Watch owns it.
	Dir *Dir
	// Every is how often it is read without an event: for what no event tells,
	// such as the end of a process.
	Every time.Duration
}

// A Watch reads a state and tells of its changes. Close ends it.
type Watch struct {
	read    func(ctx context.Context) (conversation.State, error)
	dir     *Dir        // or nil
	changes wake.Signal // room for one token: more are merged
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Start begins to read. The caller closes the Watch.
func Start(o Options) *Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{read: o.Read, dir: o.Dir, changes: wake.New(), cancel: cancel}
	w.running.Go(func() { w.run(ctx, o.Every) })
	return w
}

// State reads the state now.
func (w *Watch) State(ctx context.Context) (conversation.State, error) { return w.read(ctx) }

// Changes receives after the state has changed, and is closed by Close.
func (w *Watch) Changes() <-chan struct{} { return w.changes }

// Close stops reading and waits for it.
func (w *Watch) Close() error {
	w.cancel()
	w.running.Wait()
	if w.dir == nil {
		return nil
	}
	return w.dir.Close()
}

func (w *Watch) run(ctx context.Context, every time.Duration) {
	defer close(w.changes)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var events <-chan struct{}
	if w.dir != nil {
		events = w.dir.Events()
	}
	var last conversation.State
	for {
		// An error is no state: whoever asks for one next gets it.
		if now, err := w.read(ctx); err == nil && !reflect.DeepEqual(now, last) {
			last = now
			w.changes.Set()
		}
		select {
		case <-ctx.Done():
			return
		case <-events:
		case <-tick.C:
		}
	}
}

// Gone is the state of an agent that has no process any more.
func Gone(source string) conversation.State {
	return conversation.State{Activity: conversation.Gone, Why: "its process has ended", Source: source}
}
