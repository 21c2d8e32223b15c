package copilot

import (
	"context"
	"path/filepath"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/copilot/wire"
	"den/internal/base/fault"
)

// turn is what the events tell of one message: a pure function of them.
type turn struct {
	asked conversation.Asked
	id    string // Copilot's of the message, "" while it was not found
	begun time.Time
	over  bool // the next message came
	// whole says that the last thing that the agent said asks for no tool.
	whole bool
	reply conversation.Reply
}

func newTurn(m conversation.Asked) *turn {
	return &turn{asked: m, reply: conversation.Reply{Source: RecordName, Certainty: conversation.Matched}}
}

// applyLine takes a line in. One that cannot be read does not hide the others.
func (t *turn) applyLine(line []byte) {
	if e, err := wire.Parse(line); err == nil {
		t.apply(e)
	}
}

// apply takes an event in. What came before the message, or answers another,
// is not the reply.
func (t *turn) apply(e wire.Event) {
	switch {
	case t.over:
	case e.Type == "user.message" && t.id == "":
		if at := timeOf(e); t.asked.Is(e.Data.Content, at) {
			t.id, t.begun = e.Data.MessageID, at
		}
	case t.id == "":
	case e.Type == "user.message":
		t.over = true
	case e.Type == "assistant.message" && e.Data.AnswersID == t.id:
		t.agentSaid(e)
	case e.Type == "abort":
		t.over, t.reply.Cancelled = true, true
	case e.Type == "session.error":
		t.reply.Failure = e.Data.Message
	case e.Type == "session.usage_record":
		t.reply.Usage.InputTokens += e.Data.Usage.InputTokens
		t.reply.Usage.OutputTokens += e.Data.Usage.OutputTokens
		t.reply.Usage.CostUSD += e.Data.Usage.Cost
	}
}

func (t *turn) agentSaid(e wire.Event) {
	t.whole = len(e.Data.ToolRequests) == 0
	t.reply.Failure = "" // it was tried again
	if e.Data.Content != "" {
		t.reply.Text = e.Data.Content
	}
	for _, r := range e.Data.ToolRequests {
		t.reply.Tools = append(t.reply.Tools, conversation.ToolUse{Name: r.Name, Input: string(r.Arguments)})
	}
	t.reply.Duration = timeOf(e).Sub(t.begun)
}

func timeOf(e wire.Event) time.Time {
	at, _ := time.Parse(time.RFC3339, e.At) // Best effort: zero is no time.
	return at
}

// told is the reply; ready says that the session does not work any more.
func (t *turn) told(ready bool) conversation.Reply {
	r := t.reply
	r.Ended = t.over || ready && (t.whole || r.Failure != "")
	return r
}

// RecordName is what Reply.Source says.
const RecordName = "copilot events"

var _ conversation.Replier = (*Source)(nil)

// ReplyTo reads the events of the session that one of the processes uses.
func (s *Source) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	pids, err := s.options.Processes(ctx)
	if err != nil {
		return conversation.Reply{}, err
	}
	session, err := s.sessionOf(pids)
	if err != nil {
		return conversation.Reply{}, err
	}
	if session == "" {
		return conversation.Reply{}, fault.Errorf(fault.NotFound, "Copilot has no session now")
	}
	state, err := s.read(ctx) // before the events: what they tell then is no older
	if err != nil {
		return conversation.Reply{}, err
	}
	reply, found := conversation.Reply{}, false
	err = s.reading.Read(filepath.Join(session, "events.jsonl"), m, func(t *turn) { reply, found = t.told(state.Activity.TakesMessage()), t.id != "" })
	if err == nil && !found {
		err = fault.Errorf(fault.NotFound, "Copilot's events do not have the message")
	}
	return reply, err
}
