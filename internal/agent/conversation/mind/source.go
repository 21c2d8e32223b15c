// Package mind talks with an agent that a harness drives, over the harness's
// socket.
package mind

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
)

// Name is what State.Source says.
const Name = "harness"

// Options says whose state is read.
type Options struct {
	Socket    string
	Processes func(ctx context.Context) ([]int, error)
}

// Source follows the state that a harness tells.
type Source struct {
	*watch.Stream
	socket string
}

var (
	_ conversation.Source    = (*Source)(nil)
	_ conversation.Sender    = (*Source)(nil)
	_ conversation.Confirmer = (*Source)(nil)
	_ conversation.Answerer  = (*Source)(nil)
)

// Open begins to follow. The harness need not listen yet.
func Open(o Options) *Source {
	s := &Source{socket: o.Socket}
	s.Stream = watch.NewStream(watch.StreamOptions{Name: Name, Follow: s.follow, Processes: o.Processes})
	s.Start()
	return s
}

// follow reads states until the harness ends.
func (s *Source) follow(ctx context.Context) error {
	conn, err := ipc.Dial(ctx, s.socket)
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it was only read.
	err = conn.Follow(ctx, ipc.Request{Type: ipc.Watch}, func(line json.RawMessage) error {
		var t ipc.StateLine
		if err := json.Unmarshal(line, &t); err != nil {
			return fault.Errorf(fault.Protocol, "read the harness's state: %w", err)
		}
		s.Set(stateOf(t.AgentStatus))
		return nil
	})
	if err == nil {
		err = io.EOF
	}
	return err
}

func stateOf(t ipc.AgentStatus) conversation.State {
	// Not when it came here: an answer to a question may come sooner, and who has
	// that has seen the end of the turn.
	state := conversation.State{Activity: conversation.Activity(t.State), Since: t.Since, Why: t.Why}
	if t.Budget != "" {
		state.Budget = &conversation.Budget{Level: t.BudgetLevel, Text: t.Budget}
	}
	if q := t.Question; q != nil {
		state.Question = &conversation.Question{ID: q.ID, Text: q.Text, Kind: conversation.QuestionKind(q.Kind)}
		for _, o := range q.Options {
			state.Question.Options = append(state.Question.Options, conversation.Option{ID: o, Label: o})
		}
	}
	return state
}

// handed makes the harness's word one for the keeper's queue: what is in the
// harness's queue has left this one.
func handed(r ipc.Taken) conversation.Receipt {
	progress := conversation.Progress(r.Progress)
	evidence := r.Evidence
	if progress == conversation.Queued || progress == "sending" {
		progress, evidence = conversation.Sent, "the harness has it in its queue"
	}
	return conversation.Receipt{ID: r.ID, Progress: progress, Evidence: evidence, At: r.At}
}

// Send puts a message into the harness's queue. The same id again is the same
// message.
func (s *Source) Send(ctx context.Context, m conversation.Message) (conversation.Receipt, error) {
	var r ipc.Taken
	if err := s.call(ctx, ipc.Request{Type: ipc.Prompt, Message: m.Text, MessageID: m.ID}, &r); err != nil {
		return conversation.Receipt{ID: m.ID, Progress: conversation.Failed, At: time.Now()}, err
	}
	return handed(r), nil
}

// Confirm asks what became of a message.
func (s *Source) Confirm(ctx context.Context, id string) (conversation.Receipt, bool, error) {
	var r ipc.Taken
	if err := s.call(ctx, ipc.Request{Type: ipc.Confirm, MessageID: id}, &r); err != nil {
		return conversation.Receipt{}, false, err
	}
	receipt := handed(r)
	return receipt, r.Found && receipt.Progress != conversation.Sent, nil
}

// Answer decides an open question.
func (s *Source) Answer(ctx context.Context, question, option string) error {
	return s.call(ctx, ipc.Request{Type: ipc.Decide, Question: question, Option: option, By: "the keeper's user"}, nil)
}

func (s *Source) call(ctx context.Context, r ipc.Request, data any) error {
	conn, err := ipc.Dial(ctx, s.socket)
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it was answered.
	_, err = conn.Call(ctx, r, data)
	return err
}
