// Package receiver sends a webhook when something begins to need a person.
package receiver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"sync"
	"time"

	"den/internal/agent/webhook"
	"den/internal/keeper"
	"den/internal/session/attention"
)

// Options are what Tell needs.
type Options struct {
	Dir         string // remembers what was told: a keeper that is started again does not tell it again
	URL, Secret string
	Events      []string // that are wanted; empty for all

	Follow     func(ctx context.Context, send func(keeper.Attention) error) error // sends what waits, with every change
	HasHarness func(agent string) bool                                            // whether an agent has a harness
}

// Tell tells one receiver until the context ends.
func Tell(ctx context.Context, o Options) {
	sender, err := webhook.Open(webhook.Options{
		Dir: o.Dir, URL: o.URL, Secret: o.Secret, Events: o.Events, Log: func(line string) { log.Print(line) },
	})
	if err != nil {
		log.Print(err)
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() { sender.Run(ctx) })
	defer sending.Wait()
	err = o.Follow(ctx, func(now keeper.Attention) error {
		for _, w := range now.Waiting {
			e, ok := eventOf(w, o.HasHarness(w.Agent))
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

// data is what an event says beside its message.
type data struct {
	Kind     string          `json:"kind"`
	State    attention.State `json:"state"`
	Session  string          `json:"session,omitempty"`
	Since    time.Time       `json:"since,omitzero"`
	Evidence string          `json:"evidence"`
	Actions  []keeper.Action `json:"actions"`
}

// eventOf is what a receiver is told of what waits. An agent's harness tells
// of its own turns and questions: of such an agent only the keeper's part is
// told.
func eventOf(w keeper.Waiting, harnessed bool) (e webhook.Event, ok bool) {
	e = webhook.Event{Nick: w.Agent, Message: w.What, Topic: w.ID, Severity: webhook.Warning}
	switch w.Kind {
	case keeper.WaitingQuestion, keeper.WaitingCell:
		e.Type = webhook.AgentQuestion
	case keeper.WaitingFailed:
		e.Type, e.Severity = webhook.AgentError, webhook.Error
	case keeper.WaitingDone:
		e.Type, e.Severity = webhook.AgentComplete, webhook.Info
	case keeper.WaitingQuarantine, keeper.WaitingConfig:
		e.Type, e.Severity, harnessed = webhook.AgentError, webhook.Critical, false
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
	more, err := json.Marshal(data{w.Kind, w.State, w.Session, w.Since, w.Evidence, w.Actions})
	if err == nil { // it is only more to read
		e.Data = more
	}
	return e, !harnessed
}
