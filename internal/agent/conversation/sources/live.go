package sources

import (
	"context"
	"maps"
	"sync"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// Live is the source of one agent over all its starts. It is opened when it is
// first asked, so that an agent that a new keeper finds running has it, too.
type Live struct {
	agent   Agent
	name    string
	changes chan struct{}  // room for one token: more are merged
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
	_ conversation.Source   = (*Live)(nil)
	_ conversation.Sender   = Sending{}
	_ conversation.Answerer = Sending{}

	_ conversation.Confirmer = Sending{}
	_ conversation.Mailbox   = Keeping{}
	_ conversation.Replier   = (*Live)(nil)
)

// Keeping is a Sending that takes messages whatever the agent does.
type Keeping struct{ Sending }

// KeepsMessages says so.
func (Keeping) KeepsMessages() {}

// Send hands a message over. One that was not taken is fault.Busy: it is to be
// tried again, and must not be typed.
func (k Keeping) Send(ctx context.Context, m conversation.Message) (conversation.Receipt, error) {
	receipt, err := k.Sending.Send(ctx, m)
	if kind := fault.KindOf(err); kind == fault.Unsupported || kind == fault.NotRunning {
		err = fault.Errorf(fault.Busy, "%w", err)
	}
	return receipt, err
}

// NewLive makes the source of an agent, nil where none is known for it.
func NewLive(a Agent) *Live {
	name := conversation.SourceName(a.Vendor)
	if _, ok := vendors[a.Vendor]; !ok || name == "" {
		return nil
	}
	return &Live{agent: a, name: name, changes: make(chan struct{}, 1)}
}

// Serves reports whether the source is one of the agent as it is given.
func (l *Live) Serves(a Agent) bool {
	return l != nil && l.agent.Vendor == a.Vendor && l.agent.Dir == a.Dir && l.agent.Socket == a.Socket && maps.Equal(l.agent.Env, a.Env)
}

// Source returns what a conversation takes: nil for nil, and a Sending where
// the vendor has a side channel.
func (l *Live) Source() conversation.Source {
	switch {
	case l == nil:
		return nil
	case vendors[l.agent.Vendor].mailbox:
		return Keeping{Sending{l}}
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
			select {
			case l.changes <- struct{}{}:
			default: // one is there already
			}
		}
	})
	return source, ""
}

// ReplyTo asks the source what the agent said to a message. Where it keeps no
// record of that, it is fault.Unsupported.
func (l *Live) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	source, why := l.open()
	replier, ok := source.(conversation.Replier)
	if !ok {
		return conversation.Reply{}, fault.Errorf(fault.Unsupported, "read a reply from the %s: %s", l.name, why)
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
	source, why := s.open()
	sender, ok := source.(conversation.Sender)
	if !ok {
		return conversation.Receipt{ID: m.ID, Progress: conversation.Failed}, fault.Errorf(fault.Unsupported, "send by the %s: %s", s.name, why)
	}
	receipt, err := sender.Send(ctx, m)
	if fault.KindOf(err) == fault.Unreachable && receipt.Progress == conversation.Failed {
		err = fault.Errorf(fault.Unsupported, "%w", err)
	}
	return receipt, err
}

// Confirm asks the side channel for a message that it was given before.
func (s Sending) Confirm(ctx context.Context, id string) (conversation.Receipt, bool, error) {
	source, why := s.open()
	confirmer, ok := source.(conversation.Confirmer)
	if !ok {
		return conversation.Receipt{}, false, fault.Errorf(fault.Unsupported, "confirm by the %s: %s", s.name, why)
	}
	return confirmer.Confirm(ctx, id)
}

// Answer decides a question by the side channel.
func (s Sending) Answer(ctx context.Context, question, option string) error {
	source, why := s.open()
	answerer, ok := source.(conversation.Answerer)
	if !ok {
		return fault.Errorf(fault.Unsupported, "answer by the %s: %s", s.name, why)
	}
	return answerer.Answer(ctx, question, option)
}
