package daemon

import (
	"context"
	"log"
	"path/filepath"
	"time"

	"den/internal/keeper"

	"github.com/fsnotify/fsnotify"
)

// ownershipCheck is how often a keeper looks whether its state directory is
// still its own, where nothing tells it: a directory far above may have moved.
const ownershipCheck = 10 * time.Second

// endWhenRemoved ends a keeper whose state directory was removed or moved away:
// nobody can reach it there, and the next one must not meet it. Its agents run
// on, and the next 'den up' finds them.
func (d *daemon) endWhenRemoved(ctx context.Context, down context.CancelCauseFunc) {
	changes := make(chan fsnotify.Event) // never ready where nothing can be watched
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		for _, dir := range []string{d.state.Path, filepath.Dir(d.state.Path), filepath.Dir(d.state.Config)} {
			if err := w.Add(dir); err != nil {
				log.Printf("watch %s: %v", dir, err)
			}
		}
		changes = w.Events
	}
	tick := time.NewTicker(ownershipCheck)
	defer tick.Stop()
	for {
		if why := d.state.Owns(d.lock); why != nil {
			d.noteEnd(why)
			down(why)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case e := <-changes:
			for ctx.Err() == nil && !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename) {
				select { // what is written there all the time is no reason to look
				case e = <-changes:
				case <-tick.C:
					e.Op = fsnotify.Remove
				case <-ctx.Done():
				}
			}
		}
	}
}

// noteEnd writes down why the keeper ends, where the next one finds it: its own
// events may be gone.
func (d *daemon) noteEnd(why error) {
	log.Printf("%v: this keeper ends, its agents run on", why)
	d.planning.Lock()
	defer d.planning.Unlock()
	d.registration.Ended = why.Error()
	if err := d.registration.Save(); err != nil {
		log.Printf("tell the next keeper: %v", err)
	}
}

// tellLastEnd makes an event of what the keeper before left as its reason to
// end.
func (d *daemon) tellLastEnd() error {
	d.planning.Lock()
	defer d.planning.Unlock()
	if d.registration.Ended == "" {
		return nil
	}
	d.controller.Event(keeper.Event{Type: keeper.EventKeeperStopped, Why: d.registration.Ended})
	d.registration.Ended = ""
	return d.registration.Save()
}
