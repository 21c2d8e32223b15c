package harness

import (
	"context"
	"path/filepath"
	"time"

	"den/internal/agent/budget"
	"den/internal/agent/runner"
	"den/internal/agent/supervisor"
	"den/internal/agent/webhook"
)

// oversight is what watches over the agent: its budget, its supervisor and the
// receiver of webhooks.
type oversight struct {
	ledger     *budget.Ledger
	supervisor *supervisor.Supervisor
	collector  *supervisor.Collector
	webhook    *webhook.Sender // or nil
}

func (h *Harness) openOversight() (err error) {
	if h.over.ledger, err = budget.Open(filepath.Join(h.stateDir, "budget.json"), h.config.Budget); err != nil {
		return err
	}
	s := h.config.Supervisor
	h.over.supervisor = supervisor.New(supervisor.Options{
		Agent: h.config.Agent, Judge: h.options.Judge, Window: s.Window, Every: s.Every, Threshold: s.Threshold,
		File: filepath.Join(h.stateDir, "supervisor.json"), Log: h.screen.Log,
		Whisper: h.whisper, Escalate: h.escalate,
		Back: func() { h.screen.Notef("the supervisor watches again") },
	})
	h.over.collector = supervisor.NewCollector(h.over.supervisor.Observe)
	h.settleWhisper()
	if h.config.Webhook.URL == "" {
		return nil
	}
	h.over.webhook, err = webhook.Open(webhook.Options{
		Dir: filepath.Join(h.stateDir, "webhooks"), URL: h.config.Webhook.URL, Secret: h.options.Getenv(h.config.Webhook.SecretEnv),
		Events: h.config.Webhook.Events, Log: h.screen.Log,
	})
	return err
}

// gate keeps turns from beginning in quiet hours, and when the budget is used
// up.
func (h *Harness) gate() (why string, until time.Time) {
	if why, until := h.asleep(); why != "" {
		return why, until
	}
	s := h.over.ledger.Check(h.clock())
	if s.Level != budget.Exceeded {
		return "", time.Time{}
	}
	return "its budget is used up: " + s.String(), s.Until
}

// spend counts what was used.
func (h *Harness) spend(u budget.Usage) {
	warn, err := h.over.ledger.Add(h.clock(), u)
	if err != nil {
		h.logf("count what the agent uses: %v", err)
	}
	for _, line := range warn {
		h.screen.Notef("budget: %s", line)
		h.notify(webhook.AgentBudget, webhook.Warning, string(line.Which), h.config.Nick+" has used "+line.String())
	}
}

// whisper gives the agent guidance: as its next turn, and to those who act as
// the agent on the socket.
func (h *Harness) whisper(id, message string, action supervisor.Action) error {
	h.screen.Notef("%s: %s", action, message)
	h.server.Whisper(string(action), message)
	_, err := h.runner.SendPrompt(runner.Prompt{ID: id, Text: "[supervisor " + string(action) + "] " + message, Urgent: true})
	return err
}

// settleWhisper tells the supervisor of a correction whose turn began before
// this harness did, or that is lost: no turn of it will begin.
func (h *Harness) settleWhisper() {
	id := h.over.supervisor.Unheard()
	if id == "" {
		return
	}
	if m, err := h.runner.Message(id); err != nil || m.Attempts > 0 {
		h.over.supervisor.Heard(id)
	}
}

// escalate calls a person.
func (h *Harness) escalate(message string) {
	h.screen.Notef("ESCALATION: %s", message)
	h.notify(webhook.AgentSpiraling, webhook.Critical, "", "[ESCALATION] "+h.config.Nick+": "+message)
}

// notify tells people outside of the channels, and in the channel that is for
// that.
func (h *Harness) notify(kind string, severity webhook.Severity, topic, text string) {
	h.tell(webhook.Event{Type: kind, Severity: severity, Topic: topic, Message: text})
}

func (h *Harness) tell(e webhook.Event) {
	e.Nick = h.config.Nick
	if h.over.webhook != nil {
		if _, err := h.over.webhook.Send(e); err != nil {
			h.logf("send a webhook: %v", err)
		}
	}
	if target := h.config.Webhook.Channel; target != "" && h.chat != nil {
		h.background.Go(func() { h.sayIn(target, e.Message) })
	}
}

// sayIn says something in a channel, which the agent enters for that alone if it
// is not in it: most servers take no messages of others.
func (h *Harness) sayIn(channel, text string) {
	if h.chat.IsChannel(channel) && !h.isIn(channel) {
		ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
		defer cancel()
		if err := h.chat.Join(ctx, channel); err != nil {
			h.logf("enter %s to say something: %v", channel, err)
			return
		}
		defer h.chat.Part(ctx, channel) // Best effort: it hears more than it needs.
	}
	h.say(channel, text, "")
}

// watchOver runs what watches over the agent until the context ends.
func (h *Harness) watchOver(ctx context.Context) {
	if h.over.webhook != nil {
		h.background.Go(func() { h.over.webhook.Run(ctx) })
	}
	h.over.supervisor.Run(ctx)
}
