package turn

import (
	"context"
	"fmt"
	"sync"
)

// maxReplies bounds the answers that wait for an agent that does not read. One
// more is dropped and logged.
const maxReplies = 128

// Replies writes answers to an agent from a goroutine of its own, so that an
// agent which does not read its input never holds up whoever reads its output.
type Replies struct {
	log    func(string)
	queue  chan any // bounded by maxReplies
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// NewReplies starts the writer. Close ends it.
func NewReplies(write func(context.Context, any) error, log func(string)) *Replies {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Replies{log: log, queue: make(chan any, maxReplies), cancel: cancel}
	r.ended.Add(1)
	go func() { // Close waits for it
		defer r.ended.Done()
		r.run(ctx, write)
	}()
	return r
}

func (r *Replies) run(ctx context.Context, write func(context.Context, any) error) {
	for {
		select {
		case m := <-r.queue:
			if err := write(ctx, m); err != nil && ctx.Err() == nil {
				r.log(fmt.Sprintf("answer the agent: %v", err))
			}
		case <-ctx.Done():
			return
		}
	}
}

// Send queues an answer and never blocks.
func (r *Replies) Send(m any) {
	select {
	case r.queue <- m:
	default:
		r.log("dropped an answer to the agent: it does not read its input")
	}
}

// Close ends the writer; what it has not written is dropped.
func (r *Replies) Close() {
	r.cancel()
	r.ended.Wait()
}
