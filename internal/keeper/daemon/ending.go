package daemon

import (
	"context"
	"log"
	"path/filepath"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/keeper"

	"github.com/fsnotify/fsnotify"
)

// errDown is why a keeper ends that was told to.
var errDown error = downError{}

// downError is a conversation.ErrAgentEnded, too.
type downError struct{}

func (downError) Error() string        { return "den down" }
func (downError) Is(target error) bool { return target == conversation.ErrAgentEnded }

// ending is the way down. Once begun it is gone to its end, whoever stops
// waiting for it: a keeper that has ended its agents and stays would keep
// nothing, and keep others from coming up.
type ending struct {
	once sync.Once
	told chan struct{} // closed when it begins
	over chan struct{} // closed when all agents have ended
}

func newEnding() ending { return ending{told: make(chan struct{}), over: make(chan struct{})} }

// begin tells the keeper to go down.
func (e *ending) begin() { e.once.Do(func() { close(e.told) }) }

// begun reports whether the workspace goes down.
func (e *ending) begun() bool {
	select {
	case <-e.told:
		return true
	default:
		return false
	}
}

// endWhenTold ends the agents, and then the keeper.
func (d *daemon) endWhenTold(ctx context.Context, down context.CancelCauseFunc) {
	select {
	case <-d.end.told:
	case <-ctx.Done():
		return
	}
	if err := d.controller.Down(ctx); err != nil {
		return // the keeper was terminated meanwhile: the next one finds what still runs
	}
	d.endBoxes()
	d.providers.leave() // before anybody is told: then nothing is left
	close(d.end.over)
	down(errDown)
}

// goDown begins the way down and waits for its end.
func (d *daemon) goDown(ctx context.Context, begun func() error) error {
	d.end.begin()
	if err := begun(); err != nil {
		return err
	}
	select {
	case <-d.end.over:
		return nil
	case <-ctx.Done(): // the keeper itself ends it once all is over
		select {
		case <-d.end.over:
			return nil
		default:
		}
		return fault.Errorf(fault.Timeout, "the workspace still goes down: %w", ctx.Err())
	}
}

// boxLimit bounds the end of a container.
const boxLimit = 30 * time.Second

// endBox ends the container beside a session, if there is one.
func (d *daemon) endBox(kind, session string) {
	ctx, cancel := context.WithTimeout(context.Background(), boxLimit)
	defer cancel()
	p, err := d.providers.get(kind)
	if err == nil {
		err = p.Stop(ctx, session)
	}
	if err != nil {
		log.Printf("end the %s of session %s: %v", kind, session, err)
	}
}

// endBoxes ends the containers of agents that have ended: one outlives a
// harness that ended by itself.
func (d *daemon) endBoxes() {
	var ending sync.WaitGroup
	for _, m := range d.plan.now().members {
		if m.box != "" {
			ending.Go(func() { d.endBox(m.box, m.SessionName()) })
		}
	}
	ending.Wait()
}

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
