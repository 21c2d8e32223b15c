package protocol

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
)

// lookPause is how often the session is looked at while nothing is told.
const lookPause = time.Second

// State is what the agent does: what its harness says, else what is known of
// the session in which that runs.
func (c *Conversation) State(ctx context.Context) (conversation.State, error) {
	var s ipc.AgentStatus
	if err := c.call(ctx, ipc.Request{Type: ipc.Status}, &s); err != nil {
		return c.stateBy(ctx, conversation.State{Activity: conversation.Unknown, Why: "its server does not answer: " + err.Error()})
	}
	return c.stateBy(ctx, stateOf(s))
}

// stateBy is the agent's state where told is the harness's last word: Unknown
// for none.
func (c *Conversation) stateBy(ctx context.Context, told conversation.State) (conversation.State, error) {
	if told.Activity != conversation.Unknown && !c.session.IsStarting(ctx) {
		return told, nil
	}
	s, err := c.session.State(ctx)
	if told.Activity == conversation.Unknown && s.Activity != conversation.Gone && s.Activity != conversation.Starting {
		s.Fallback = Name + ": " + told.Why
	}
	return s, err
}

// Ready reports whether the agent waits for a message.
func (c *Conversation) Ready(ctx context.Context) bool {
	s, err := c.State(ctx)
	return err == nil && s.Activity.TakesMessage()
}

// LastState is the state as Run last saw it, the zero State before that.
func (c *Conversation) LastState() conversation.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func stateOf(t ipc.AgentStatus) conversation.State {
	// Not when it came here: an answer to a question may come sooner, and who has
	// that has seen the end of the turn.
	state := conversation.State{Activity: conversation.Activity(t.State), Since: t.Since, Why: t.Why, Question: t.Question, Source: Name}
	if t.Budget != "" {
		state.Budget = &conversation.Budget{Level: t.BudgetLevel, Text: t.Budget}
	}
	return state
}

// Run moves to the harness what is kept here, now and later, and follows the
// agent's state, until the context ends.
func (c *Conversation) Run(ctx context.Context) error {
	c.recall()
	var stream *watch.Stream
	stream = watch.NewStream(watch.StreamOptions{Name: Name, Follow: func(ctx context.Context) error { return c.listen(ctx, stream.Set) }})
	stream.Start()
	defer stream.Close() // it has no error
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		if err := c.move(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-stream.Changes():
		case <-tick.C:
		case <-c.queue.Added():
			continue
		}
		now, err := stream.State(ctx)
		if err == nil {
			now, err = c.stateBy(ctx, now)
		}
		if err != nil || ctx.Err() != nil {
			continue // nobody could be asked: the next look may tell
		}
		if c.keepState(&now) {
			c.settle(ctx)
			if c.onState != nil {
				c.onState(now)
			}
		}
	}
}

// listen passes on what the harness says of its agent, until it ends.
func (c *Conversation) listen(ctx context.Context, set func(conversation.State)) error {
	conn, err := ipc.Dial(ctx, c.harness.Socket)
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it was only read.
	err = conn.Follow(ctx, ipc.Request{Type: ipc.Watch}, func(line json.RawMessage) error {
		var t ipc.StateLine
		if err := json.Unmarshal(line, &t); err != nil {
			return fault.Errorf(fault.Protocol, "read the harness's state: %w", err)
		}
		set(stateOf(t.AgentStatus))
		return nil
	})
	if err == nil {
		err = io.EOF
	}
	return err
}

// keepState keeps a state for those who ask for the last one, and reports
// whether it differs from the one before in what callers act on.
func (c *Conversation) keepState(now *conversation.State) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.state
	changed = was.Activity != now.Activity || now.Activity == conversation.TurnFailed && was.Why != now.Why || idOf(was.Question) != idOf(now.Question)
	if now.Since.IsZero() && !changed {
		now.Since = was.Since
	}
	if now.Since.IsZero() {
		now.Since = time.Now()
	}
	c.state = *now
	return changed
}

func idOf(q *conversation.Question) string {
	if q == nil {
		return ""
	}
	return q.ID
}

// recall finds out which messages the harness had before this keeper.
func (c *Conversation) recall() {
	nudges, err := c.harness.Nudges()
	if err != nil {
		log.Printf("agent '%s': read the messages that its harness has: %v", c.agent, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range nudges {
		c.queue.NoteHanded(m.Created)
		if !m.Status.Final() {
			c.unsettled[m.ID] = true
		}
	}
}

// settle asks the harness for messages of which nothing shows that the agent
// took them. It is called when the state has changed: an agent that takes a
// message begins to work.
func (c *Conversation) settle(ctx context.Context) {
	c.mu.Lock()
	var open []string
	for id := range c.unsettled {
		open = append(open, id)
	}
	c.mu.Unlock()
	for _, id := range open {
		var r ipc.Taken
		if err := c.call(ctx, ipc.Request{Type: ipc.Confirm, MessageID: id}, &r); err != nil {
			return // it is asked again at the next change
		}
		m := messageOf(r, "")
		if r.Found && m.Status == conversation.Sent {
			continue
		}
		if r.Found {
			if m.Status == conversation.Answered {
				m.Status = conversation.Taken
			}
			if err := c.queue.MoveOut(m); err != nil {
				log.Printf("agent '%s': %v", c.agent, err)
			}
		}
		c.mu.Lock()
		delete(c.unsettled, id)
		c.mu.Unlock()
	}
}
