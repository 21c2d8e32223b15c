package harness

import (
	"time"

	"den/internal/agent/harness/turns"
	"den/internal/agent/permission"
	"den/internal/agent/runner"
)

// note adds to the log of turns. A log that cannot be written must not end the
// agent.
func (h *Harness) note(e turns.Entry) {
	e.At = h.clock()
	if err := h.turnLog.Add(e); err != nil {
		h.logf("%v", err)
	}
}

// noteBegin notes that a turn begins, and where its prompt comes from.
func (h *Harness) noteBegin(p runner.Prompt, attempt int, isWhisper bool) {
	h.mu.Lock()
	h.turnNow = p.ID
	h.mu.Unlock()
	e := turns.Entry{Kind: turns.Prompt, Turn: p.ID, Text: p.Text, From: h.originOf(p, isWhisper)}
	if attempt > 1 {
		e.Attempt = attempt
	}
	h.note(e)
}

// originOf is where a prompt comes from.
func (h *Harness) originOf(p runner.Prompt, isWhisper bool) *turns.Origin {
	route := decodeRoute(p.Route)
	o := &turns.Origin{Kind: turns.FromUnknown, Who: route.Sender, Agent: route.Bot}
	switch {
	case isWhisper:
		o.Kind, o.Agent = turns.FromSupervisor, true
	case route.Kind == RouteChannel && h.chat != nil && h.chat.IsChannel(route.Target):
		o.Kind, o.Where = turns.FromChannel, route.Target
	case route.Kind == RouteChannel:
		o.Kind = turns.FromDirect
	case route.Kind == RouteAsker:
		o.Kind = turns.FromAsk
	case route.Kind == RouteNudge:
		o.Kind = turns.FromNudge
	case route.Kind == RouteScreen:
		o.Kind = turns.FromScreen
	case p.Text == h.config.Initial:
		o.Kind = turns.FromStart
	}
	return o
}

// noteEvent notes what happens within a turn.
func (h *Harness) noteEvent(p runner.Prompt, e runner.Event) {
	switch e.Kind {
	case runner.Spoke:
		for _, b := range e.Message.Content {
			h.noteBlock(p, b)
		}
	case runner.ToolFinished:
		h.noteDenials(e.Result.Output)
		h.note(turns.Entry{Kind: turns.Result, Turn: p.ID, Use: e.Result.ID, Text: e.Result.Output, Failed: e.Result.Failed, Denied: e.Result.Denied})
	case runner.Retrying:
		h.note(turns.Entry{Kind: turns.Note, Turn: p.ID, Text: "tries again: " + e.Failure.Error()})
	case runner.Noted:
		h.note(turns.Entry{Kind: turns.Note, Turn: p.ID, Text: e.Text})
	}
}

func (h *Harness) noteBlock(p runner.Prompt, b runner.Block) {
	switch b.Type {
	case runner.BlockText:
		h.note(turns.Entry{Kind: turns.Said, Turn: p.ID, Text: b.Text})
	case runner.BlockThinking:
		h.note(turns.Entry{Kind: turns.Thought, Turn: p.ID, Text: b.Thinking})
	case runner.BlockToolUse:
		h.note(turns.Entry{Kind: turns.Used, Turn: p.ID, Use: b.ID, Tool: b.Name, Input: string(b.Input)})
	}
}

// noteEnd notes how a turn ended.
func (h *Harness) noteEnd(p runner.Prompt, o runner.Outcome) {
	h.mu.Lock()
	h.turnNow = ""
	h.mu.Unlock()
	e := turns.Entry{Kind: turns.Ended, Turn: p.ID, Cancelled: o.Result.Cancelled, TookMs: o.Duration.Milliseconds(), Attempt: o.Attempts}
	if u := o.Result.Usage; u != (runner.Usage{}) {
		e.Usage = &u
	}
	if f := o.Failure; f != nil {
		e.Failed, e.Class, e.Text = true, string(f.Class), f.WithAdvice()
	}
	h.note(e)
}

// noteFailure notes an attempt that failed, and when den goes on.
func (h *Harness) noteFailure(p runner.Prompt, f *runner.Failure, until time.Time) {
	h.note(turns.Entry{Kind: turns.Failed, Turn: p.ID, Class: string(f.Class), Text: f.WithAdvice(), Until: until.UTC()})
}

// noteApproval notes what the agent asks for, and how that ended: the agent goes
// on before that is told, and its turn may be over.
func (h *Harness) noteApproval(a permission.Approval) {
	e := turns.Entry{Kind: turns.Asked, Approval: a.ID, Tool: a.Request.Tool, Text: requestText(a.Request)}
	if a.Request.Kind == permission.Question {
		e.Text = a.Request.Text
	}
	h.mu.Lock()
	if a.State == permission.Open {
		h.askedIn[a.ID] = h.turnNow
	}
	e.Turn = h.askedIn[a.ID]
	if a.State != permission.Open {
		e.Kind, e.State, e.By, e.Text = turns.Decided, string(a.State), a.By, a.Why
		delete(h.askedIn, a.ID)
	}
	h.mu.Unlock()
	h.note(e)
}
