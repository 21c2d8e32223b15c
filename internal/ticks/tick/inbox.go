package tick

import (
	"context"
	"path/filepath"
	"time"

	dirs "den/internal/agent/conversation/watch"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
)

// inboxPatrol is how often the inbox is read where nothing tells of a change.
const inboxPatrol = 5 * time.Second

// inbox tells the loop of notifications while the tick runs.
type inbox struct {
	tick *tick

	known map[string]bool // that the loop was told of; the watch's own
}

func newInbox(t *tick) *inbox { return &inbox{tick: t, known: map[string]bool{}} }

// watch reads the inbox until the context ends.
func (i *inbox) watch(ctx context.Context) {
	var changed <-chan struct{}
	if d, err := dirs.OpenDir(filepath.Join(i.tick.o.Repo.Path(), datarepo.InboxDir)); err != nil {
		i.tick.report("watch the notifications; they are read at intervals", err)
	} else {
		defer d.Close() // Best effort: the tick ends.
		changed = d.Events()
	}
	told := map[string]bool{} // problems
	for {
		wait := i.read(told)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// read tells the loop what is new, and returns when to read again.
func (i *inbox) read(told map[string]bool) time.Duration {
	in, err := i.tick.o.Repo.NewNotifications(i.tick.o.Clock(), func(id string) bool { return i.known[id] })
	if err != nil {
		in.Problems = append(in.Problems, err)
	}
	for _, p := range in.Problems {
		if !told[p.Error()] {
			told[p.Error()] = true
			i.tick.o.Log.Warn("a notification cannot be delivered", "error", p)
		}
	}
	if fresh := i.remember(in.Ready); len(fresh) > 0 {
		i.tick.send(plan.Event{Kind: plan.Notified, Notices: fresh})
	}
	if in.Again > 0 {
		return min(in.Again, inboxPatrol)
	}
	return inboxPatrol
}

func (i *inbox) remember(ready []datarepo.Notification) []plan.Notice {
	var fresh []plan.Notice
	for _, n := range ready {
		i.known[n.ID] = true
		fresh = append(fresh, plan.Notice{ID: n.ID, Text: n.Text})
	}
	return fresh
}

// acknowledge removes what the agent has. One that cannot be removed is told
// again by the next tick.
func (i *inbox) acknowledge(notices []plan.Notice) {
	for _, n := range notices {
		removed, err := i.tick.o.Repo.AcknowledgeNotification(n.ID)
		i.tick.report("remove a notification that was delivered", err)
		if err == nil && !removed {
			i.tick.o.Log.Info("a notification has changed since it was delivered; it is delivered again", "id", n.ID)
		}
	}
}
