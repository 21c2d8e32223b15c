package turn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// maxKinds bounds the kinds that are counted apart: the rest is counted as one.
const maxKinds = 100

// Skipped counts messages that a driver does not know, and logs the first of
// each kind.
type Skipped struct {
	Log func(string)

	mu    sync.Mutex // guards count
	count map[string]int
}

// Add counts one message.
func (s *Skipped) Add(kind string) {
	s.mu.Lock()
	if s.count == nil {
		s.count = map[string]int{}
	}
	if s.count[kind] == 0 && len(s.count) >= maxKinds {
		kind = "others"
	}
	s.count[kind]++
	first := s.count[kind] == 1
	s.mu.Unlock()
	if first {
		s.Log(fmt.Sprintf("skipped a message of the unknown kind %q", kind))
	}
}

// Malformed counts a message that cannot be read.
func (s *Skipped) Malformed(err error) { s.Add("malformed: " + err.Error()) }

// Total logs how many were skipped, if any were.
func (s *Skipped) Total() {
	s.mu.Lock()
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(s.count)) {
		all = append(all, fmt.Sprintf("%q %d", kind, s.count[kind]))
	}
	s.mu.Unlock()
	if len(all) > 0 {
		s.Log("messages of unknown kinds: " + strings.Join(all, ", "))
	}
}
