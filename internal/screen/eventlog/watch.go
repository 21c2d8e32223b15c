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

// news is what a wait heard of.
type news int

const (
	noNews     news = iota // the context ended
	newContent             // files grew, and nothing else
	newFiles               // files may have come or gone
)

// wait returns once something may have changed, or ctx has ended.
func (w *watch) wait(ctx context.Context) news {
	if w.w == nil {
		t := time.NewTimer(pollEvery)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return noNews
		case <-t.C:
			return newFiles
		}
	}
	heard := noNews
	select {
	case <-ctx.Done():
		return noNews
	case ev := <-w.w.Events:
		heard = told(ev)
	case <-w.w.Errors: // an overflow: look at everything
		heard = newFiles
	}
	// One refresh answers all pending notifications.
	for {
		select {
		case ev := <-w.w.Events:
			heard = max(heard, told(ev))
		case <-w.w.Errors:
			heard = newFiles
		default:
			if ctx.Err() != nil {
				return noNews
			}
			return heard
		}
	}
}

func told(ev fsnotify.Event) news {
	if ev.Op == fsnotify.Write {
		return newContent
	}
	return newFiles
}
