package eventlog

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// pollEvery is the polling interval where change notifications are not
// available.
const pollEvery = 100 * time.Millisecond

// watch waits for changes in a directory.
type watch struct {
	w *fsnotify.Watcher // or nil: poll
}

func newWatch(dir string) *watch {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &watch{} // inotify instances are few on some machines
	}
	if err := w.Add(dir); err != nil {
		w.Close()
		return &watch{}
	}
	return &watch{w: w}
}

func (w *watch) close() {
	if w.w != nil {
		w.w.Close()
	}
}

// wait returns true when something may have changed, false when ctx ended.
func (w *watch) wait(ctx context.Context) bool {
	if w.w == nil {
		t := time.NewTimer(pollEvery)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		}
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.w.Events:
	case <-w.w.Errors: // an overflow: look at everything
	}
	// One refresh answers all pending notifications.
	for {
		select {
		case <-w.w.Events:
		case <-w.w.Errors:
		default:
			return ctx.Err() == nil
		}
	}
}
