package instance

import (
	"context"
	"errors"
	"strings"
	"time"

	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

// Look reads what may begin a tick. It consumes nothing. What of it cannot be
// read is the error, beside the rest.
func (i *Instance) Look(ctx context.Context, now time.Time) (watch.Observed, error) {
	text, paused, err := i.Repo.Paused()
	if err != nil {
		return watch.Observed{Problem: err.Error()}, nil
	}
	var seen watch.Observed
	if paused {
		seen.Paused = "there is a file system/paused"
		if text != "" {
			seen.Paused = whyPaused(text)
		}
	}
	problems := []error{i.lookForTrigger(now, &seen), i.lookForWakes(ctx, now, &seen), i.lookForNotifications(now, &seen)}
	holder, held, err := i.Dir.TickHolder()
	if held {
		seen.Held = holder.String()
	}
	return seen, errors.Join(append(problems, err)...)
}

// whyPaused is the reason in the text of a pause, or all of it where somebody
// else wrote it.
func whyPaused(text string) string {
	for line := range strings.Lines(text) {
		if why, ok := strings.CutPrefix(line, "Why: "); ok {
			return strings.TrimSpace(why)
		}
	}
	return text
}

func (i *Instance) lookForTrigger(now time.Time, seen *watch.Observed) error {
	trigger, again, err := i.Repo.Trigger(now)
	if trigger != nil {
		seen.Causes = append(seen.Causes, plan.Cause{Kind: plan.ByTrigger, ID: trigger.ID, Reason: trigger.Reason})
	}
	lookAgain(seen, now, again)
	return err
}

func (i *Instance) lookForWakes(ctx context.Context, now time.Time, seen *watch.Observed) error {
	wakes, err := i.Wakes.Look(ctx, now)
	for _, d := range wakes.Due {
		seen.Causes = append(seen.Causes, plan.Cause{Kind: plan.ByWake, ID: d.ID, Reason: d.Reason})
	}
	if !wakes.Next.IsZero() {
		lookAgain(seen, now, max(1, wakes.Next.Sub(now)))
	}
	return errors.Join(append(wakes.Problems, err)...)
}

func (i *Instance) lookForNotifications(now time.Time, seen *watch.Observed) error {
	in, err := i.Repo.Notifications(now)
	for _, n := range in.Ready {
		seen.Causes = append(seen.Causes, plan.Cause{Kind: plan.ByNotification, ID: n.ID})
	}
	lookAgain(seen, now, in.Again)
	return errors.Join(append(in.Problems, err)...)
}

// lookAgain notes that there may be a cause after some time; 0 is never.
func lookAgain(seen *watch.Observed, now time.Time, after time.Duration) {
	if at := now.Add(after); after > 0 && (seen.NextWake.IsZero() || at.Before(seen.NextWake)) {
		seen.NextWake = at
	}
}
