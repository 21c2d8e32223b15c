package screen

import (
	"context"
	"errors"
	"slices"
	"time"

	"den/internal/conversation"
)

// stateInterval is how often the state is read where no source tells of
// changes.
const (
	stateInterval = time.Second
	plainInterval = 2 * time.Second // of a program that is no coding agent
)

// Run sends what is queued, now and later, answers what the agent asks late,
// and follows its state, until the context ends.
func (c *Conversation) Run(ctx context.Context) error {
	c.recallPrompt(ctx)
	ctx, stop := context.WithCancel(ctx)
	var watchErr error
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchErr = c.watchState(ctx)
		stop() // without the state, Run is begun anew
	}()
	err := c.talk(ctx)
	stop()
	<-watched
	return errors.Join(err, watchErr)
}

// talk sends what is queued and answers late dialogs.
func (c *Conversation) talk(ctx context.Context) error {
	late := c.watchLate()
	defer late.stop()
	for {
		if err := c.deliver(ctx, ""); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.queue.Added():
		case <-c.up:
			late.begin()
		case <-late.ticker.C:
			if err := late.answerDialog(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// watchState tells of every change of the state until the context ends, or a
// change could not be kept.
func (c *Conversation) watchState(ctx context.Context) error {
	interval := stateInterval
	if !c.hints.CodingAgent && c.source == nil {
		interval = plainInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var changes <-chan struct{}
	if c.source != nil {
		changes = c.source.Changes()
	}
	var last conversation.State
	var active time.Time
	for {
		if last.Activity != conversation.Ready || !c.silentSince(ctx, &active) {
			s, err := c.State(ctx)
			if err == nil && !sameState(s, last) && ctx.Err() == nil {
				if err := c.stateChanged(last, s); err != nil {
					return err
				}
				last = s
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-changes:
			if !ok {
				changes = nil // the source has ended
			}
		case <-ticker.C:
		}
	}
}

// silentSince reports whether a plain program that was ready has written
// nothing since the time it is given, and brings that up to date: then it is
// ready still, and the kernel need not be asked.
func (c *Conversation) silentSince(ctx context.Context, active *time.Time) bool {
	at, err := c.provider.GetLastActivity(ctx, c.session)
	same := err == nil && at.Equal(*active)
	*active = at
	return same && !c.hints.CodingAgent
}

func sameState(a, b conversation.State) bool {
	if a.Activity != b.Activity || a.Activity == conversation.Broken && a.Why != b.Why {
		return false
	}
	return a.Question == nil && b.Question == nil || a.Question != nil && b.Question != nil && a.Question.ID == b.Question.ID
}

func (c *Conversation) stateChanged(last, now conversation.State) error {
	c.mu.Lock()
	c.state = now
	c.mu.Unlock()
	c.events.add(conversation.Event{Kind: conversation.StateChanged, At: c.clock(), State: &now})
	if c.onState != nil {
		c.onState(now)
	}
	over := []conversation.Activity{conversation.Ready, conversation.Broken}
	if c.source != nil && last.Activity == conversation.Busy && slices.Contains(over, now.Activity) && now.Source == c.source.Name() {
		return c.queue.Answered()
	}
	return nil
}
