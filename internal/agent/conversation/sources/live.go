package sources

import (
	"context"
	"maps"
	"sync"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/base/wake"
)

// Live is the source of one agent over all its starts. It is opened when it is
// first asked, so that an agent that a new keeper finds running has it, too.
type Live struct {
	agent   Agent
	name    string
	changes wake.Signal    // room for one token: more are merged
	passing sync.WaitGroup // passes changes on

	mu     sync.Mutex          // guards the fields below
	source conversation.Source // or nil
	why    string              // why there is none, where that was tried
	tried  bool
	ended  bool
	bare   string // why the last start went without it, where that is known
}

// Sending is a Live that also sends and answers.
type Sending struct{ *Live }

var (
	_ conversation.Source    = (*Live)(nil)
	_ conversation.Replier   = (*Live)(nil)
	_ conversation.Sender    = Sending{}
	_ conversation.Answerer  = Sending{}
	_ conversation.Confirmer = Sending{}
)

// NewLive makes the source of an agent, nil where none is known for it.
func NewLive(a Agent) *Live {
	name := conversation.SourceName(a.Vendor)
	if _, ok := vendors[a.Vendor]; !ok || name == "" {
		return nil
	}
	return &Live{agent: a, name: name, changes: wake.New()}
}

// Serves reports whether the source is one of the agent as it is given.
func (l *Live) Serves(a Agent) bool {
	return l != nil && l.agent.Vendor == a.Vendor && l.agent.Dir == a.Dir && maps.Equal(l.agent.Env, a.Env)
}

// Source returns what a conversation takes: nil for nil, and a Sending where
// the vendor has a side channel.
func (l *Live) Source() conversation.Source {
	switch {
	case l == nil:
		return nil
	case vendors[l.agent.Vendor].prepare != nil:
		return Sending{l}
	}
	return l
}

// Prepare adds to a start what the source needs. The error says why the agent
// is started as it is.
func (l *Live) Prepare(argv []string) (Launch, error) {
	l.forget()
	launch, err := l.agent.Prepare(argv)
	if err != nil {
		l.mu.Lock()
		l.bare = err.Error()
		l.mu.Unlock()
	}
	return launch, err
}

// forget closes what was opened for the start before.
func (l *Live) forget() {
	l.mu.Lock()
	old := l.source
	l.source, l.tried, l.why, l.bare = nil, false, "", ""
	l.mu.Unlock()
	if old != nil {
		_ = old.Close() // Best effort: nothing is written there.
	}
}

// Name says what is read.
func (l *Live) Name() string { return l.name }

// Changes receives after the state may have changed.
func (l *Live) Changes() <-chan struct{} { return l.changes }

// State asks the source. Where there is none it is Unknown.
func (l *Live) State(ctx context.Context) (conversation.State, error) {
	source, why := l.open()
	if source == nil {
		return conversation.State{Activity: conversation.Unknown, Why: why, Source: l.name}, nil
	}
	return source.State(ctx)
}

// open returns the source, or why there is none.
func (l *Live) open() (conversation.Source, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source != nil || l.tried || l.ended {
		return l.source, l.why
	}
	l.tried = true
	source, err := l.agent.Open()
	if err != nil {
		if l.why = err.Error(); l.bare != "" {
			l.why += ": " + l.bare
		}
		return nil, l.why
	}
	l.source = source
	l.passing.Go(func() {
		for range source.Changes() {
			l.changes.Set()
		}
	})
	return source, ""
}

// able returns the source as one that can do something, or why there is none
// now: fault.Unsupported.
func able[T any](l *Live, what string) (T, error) {
	source, why := l.open()
	can, ok := source.(T)
	if !ok {
		return can, fault.Errorf(fault.Unsupported, "%s the %s: %s", what, l.name, why)
	}
	return can, nil
}

// ReplyTo asks the source what the agent said to a message. Where it keeps no
// record of that, it is fault.Unsupported.
func (l *Live) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	replier, err := able[conversation.Replier](l, "read a reply from")
	if err != nil {
		return conversation.Reply{}, err
	}
	return replier.ReplyTo(ctx, m)
}

// Close ends the source for good.
func (l *Live) Close() error {
	l.mu.Lock()
	source := l.source
	l.source, l.ended, l.why = nil, true, "the keeper ends"
	l.mu.Unlock()
	var err error
	if source != nil {
		err = source.Close()
	}
	l.passing.Wait()
	return err
}

// Send hands a message over by the side channel. fault.Unsupported means that
// there is none now and that nothing was sent: it can be typed.
func (s Sending) Send(ctx context.Context, m conversation.Message) (conversation.Receipt, error) {
	sender, err := able[conversation.Sender](s.Live, "send by")
	if err != nil {
		return conversation.Receipt{ID: m.ID, Progress: conversation.Failed}, err
	}
	receipt, err := sender.Send(ctx, m)
	if fault.KindOf(err) == fault.Unreachable && receipt.Progress == conversation.Failed {
		err = fault.Errorf(fault.Unsupported, "%w", err)
	}
	return receipt, err
}

// Confirm asks the side channel for a message that it was given before.
func (s Sending) Confirm(ctx context.Context, id string) (conversation.Receipt, bool, error) {
	confirmer, err := able[conversation.Confirmer](s.Live, "confirm by")
	if err != nil {
		return conversation.Receipt{}, false, err
	}
	return confirmer.Confirm(ctx, id)
}

// Answer decides a question by the side channel.
func (s Sending) Answer(ctx context.Context, question, option string) error {
	answerer, err := able[conversation.Answerer](s.Live, "answer by")
	if err != nil {
		return err
	}
	return answerer.Answer(ctx, question, option)
}
