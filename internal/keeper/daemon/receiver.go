package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"path/filepath"
	"sync"
	"time"

	"den/internal/agent/webhook"
	"den/internal/keeper"
	"den/internal/place/workspace"
	"den/internal/session/attention"
)

// tellReceivers tells the workspace's receiver of webhooks what begins to need a
// person, until the context ends. A file that names another receiver takes
// effect at once.
func (d *daemon) tellReceivers(ctx context.Context) {
	for ctx.Err() == nil {
		hooks, changed := d.webhooks()
		run, cancel := context.WithCancel(ctx)
		var telling sync.WaitGroup
		if hooks.URL != "" {
			telling.Go(func() { d.tellReceiver(run, hooks) })
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
		cancel()
		telling.Wait()
	}
}

// webhooks is who is told, and a channel that is closed when that may change.
func (d *daemon) webhooks() (workspace.Webhooks, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.workspace.Webhooks, d.changed
}

// tellReceiver tells one receiver. What it was told of is remembered on disk: a
// keeper that is started again does not tell it again.
func (d *daemon) tellReceiver(ctx context.Context, hooks workspace.Webhooks) {
	sender, err := webhook.Open(webhook.Options{
		Dir: filepath.Join(d.state.Path, "webhooks"), URL: hooks.URL, Secret: d.getenv(hooks.SecretEnv), Events: hooks.Events,
		Log: func(line string) { log.Print(line) },
	})
	if err != nil {
		log.Print(err)
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() { sender.Run(ctx) })
	defer sending.Wait()
	err = d.followAttention(ctx, d.state.Config, func(now keeper.Attention) error {
		for _, w := range now.Waiting {
			e, ok := receiverEvent(w, d.hasMind(w.Agent))
			if !ok {
				continue
			}
			if _, err := sender.Send(e); err != nil {
				log.Printf("tell of what needs a person: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}

// hasMind reports whether an agent has a harness.
func (d *daemon) hasMind(agent string) bool {
	m, err := d.find(agent)
	return err == nil && d.socketOf(m) != ""
}

// receiverData is what an event says beside its message.
type receiverData struct {
	Kind     string          `json:"kind"`
	State    attention.State `json:"state"`
	Session  string          `json:"session,omitempty"`
	Since    time.Time       `json:"since,omitzero"`
	Evidence string          `json:"evidence"`
	Actions  []keeper.Action `json:"actions"`
}

// receiverEvent is what a receiver is told of what waits. An agent's harness tells
// of its own turns and questions: of such an agent only the keeper's part is
// told.
func receiverEvent(w keeper.Waiting, mind bool) (e webhook.Event, ok bool) {
	e = webhook.Event{Nick: w.Agent, Message: w.What, Topic: w.ID, Severity: webhook.Warning}
	switch w.Kind {
	case keeper.WaitingQuestion, keeper.WaitingCell:
		e.Type = webhook.AgentQuestion
	case keeper.WaitingFailed:
		e.Type, e.Severity = webhook.AgentError, webhook.Error
	case keeper.WaitingDone:
		e.Type, e.Severity = webhook.AgentComplete, webhook.Info
	case keeper.WaitingQuarantine, keeper.WaitingConfig:
		e.Type, e.Severity, mind = webhook.AgentError, webhook.Critical, false
	default:
		return e, false
	}
	// The same thing has the same id, whichever keeper tells of it.
	what := w.ID + "\x00" + w.Since.UTC().String()
	if w.Since.IsZero() {
		what += "\x00" + w.What
	}
	sum := sha256.Sum256([]byte(what))
	e.ID = hex.EncodeToString(sum[:11])
	data, err := json.Marshal(receiverData{w.Kind, w.State, w.Session, w.Since, w.Evidence, w.Actions})
	if err == nil { // it is only more to read
		e.Data = data
	}
	return e, !mind
}
