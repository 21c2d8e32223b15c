package tick

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	dirs "den/internal/agent/conversation/watch"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

// maxEvents is how many events wait to be taken. Who has one more waits until
// one is taken.
const maxEvents = 64

// event is an event on its way to the loop.
type event struct {
	plan.Event
	taken chan struct{} // closed when its state is recorded; or nil
}

// tick is one tick that runs.
type tick struct {
	o       Options
	config  datarepo.Config
	lodging Lodging

	number  int           // of the tick
	began   time.Time     // for people
	started time.Time     // with the clock that nobody can set
	base    time.Duration // before the process of a tick was killed that is recovered
	events  chan event
	done    chan struct{} // closed when no more events are taken

	work   sync.WaitGroup // what Close waits for
	rest   sync.WaitGroup // what the end of the loop waits for
	ctx    context.Context
	cancel context.CancelFunc // ends the work

	mind       mind
	tools      *tools
	inbox      *inbox
	transcript *transcript
	index      *history.Writer
	seen       time.Time // zero, or when a tick that is recovered was last known to live

	// The loop's own.
	s        plan.State
	recorded plan.State
	broken   bool // the record could not be written
}

// open makes a tick that is in a state. It starts nothing that runs.
func open(o Options, s plan.State, config datarepo.Config, lodging Lodging) *tick {
	t := &tick{o: o, config: config, lodging: lodging, s: s, number: s.Tick, began: s.Began, events: make(chan event, maxEvents), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.transcript = newTranscript(o.Repo, s.Tick, o.Clock, o.Log)
	t.index = newIndex(o.Repo, s, config)
	t.inbox = newInbox(t)
	t.mind.tick = t
	t.tools = newTools(t)
	return t
}

func (t *tick) elapsed() time.Duration { return t.base + time.Since(t.started) }

// send gives the loop an event. After the end of the tick nobody takes it.
func (t *tick) send(e plan.Event) {
	select {
	case t.events <- event{Event: e}:
	case <-t.done:
	}
}

// sendAndWait sends an event and returns once it is recorded.
func (t *tick) sendAndWait(e plan.Event) {
	taken := make(chan struct{})
	select {
	case t.events <- event{Event: e, taken: taken}:
	case <-t.done:
		return
	}
	select {
	case <-taken:
	case <-t.done:
	}
}

// run takes events until the tick is done. When ctx ends, the tick is asked to
// end.
func (t *tick) run(ctx context.Context, begin func()) plan.State {
	defer t.rest.Wait()
	defer t.cancel()
	defer close(t.done)
	t.started = time.Now()
	defer context.AfterFunc(ctx, func() {
		t.send(plan.Event{Kind: plan.Stop, Problem: context.Cause(ctx).Error()})
	})()
	t.record()
	begin()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for t.s.Stage != plan.Done {
		t.arm(timer)
		select {
		case e := <-t.events:
			t.take(e.Event)
			if e.taken != nil {
				close(e.taken)
			}
		case <-timer.C:
			t.take(plan.Event{Kind: plan.Passed})
		}
	}
	return t.s
}

// longestSleep is between two looks at the time, where nothing is due.
const longestSleep = time.Hour

func (t *tick) arm(timer *time.Timer) {
	wait := longestSleep
	if at, ok := t.s.Due(); ok {
		wait = min(wait, max(0, at-t.elapsed()))
	}
	timer.Reset(wait)
}

// take is one step: decide, record, act.
func (t *tick) take(e plan.Event) {
	e.Elapsed = t.elapsed()
	next, actions := plan.Next(t.s, e)
	changed := !next.Same(t.s)
	t.s = next
	t.record()
	if changed {
		t.o.Log.Debug("step", "tick", next.Tick, "event", e.Kind, "stage", next.Stage)
	}
	t.performAll(actions)
}

func (t *tick) performAll(actions []plan.Action) {
	for _, a := range actions {
		t.perform(a)
	}
}

// record writes the state, if it differs from what was written. A tick that
// cannot be recorded is ended; how it ends is then not recorded either, and its
// hooks might run again after a kill.
func (t *tick) record() {
	if t.s.Same(t.recorded) {
		return
	}
	err := t.o.Dir.SaveTick(t.s)
	if err == nil {
		t.recorded = t.s
		return
	}
	if !t.broken {
		t.broken = true
		t.o.Log.Error("the tick cannot be recorded", "error", err)
		t.rest.Go(func() { t.send(plan.Event{Kind: plan.Broken, Problem: err.Error()}) })
	}
}

// begin runs something that takes long and that Close ends and waits for.
func (t *tick) begin(do func(ctx context.Context) plan.Event) {
	t.work.Go(func() { t.send(do(t.ctx)) })
}

// conclude runs something of the tick's end: nothing stops it but limits of its
// own.
func (t *tick) conclude(do func() plan.Event) {
	t.rest.Go(func() { t.send(do()) })
}

// perform begins an action, or does it if it takes no time.
func (t *tick) perform(a plan.Action) {
	switch a.Kind {
	case plan.Begin:
		t.begin(t.count)
	case plan.Prepare:
		t.begin(t.prepare)
	case plan.RunHooks:
		t.runHooks(a)
	case plan.Open:
		t.begin(func(ctx context.Context) plan.Event { return t.mind.open(ctx, a.Resume) })
	case plan.Prompt:
		t.tools.calm()
		r := t.mind.begin(a.Turn)
		t.begin(func(context.Context) plan.Event { return t.mind.turn(r, a.Text) })
	case plan.Interrupt:
		t.work.Go(func() { t.mind.interrupt(a.Turn) })
	case plan.DropSession:
		t.mind.drop()
	case plan.CheckEnd:
		s := t.s // of now: the goroutine must not read the loop's
		t.begin(func(ctx context.Context) plan.Event { return t.check(ctx, s) })
	case plan.RouseWait:
		t.tools.rouse()
	case plan.Tell:
		t.tools.tell(a.Call, a.Notices, a.More)
	case plan.AckNotices:
		t.inbox.acknowledge(a.Notices)
	case plan.AckCauses:
		t.ackCauses(a.Causes)
	case plan.Close:
		t.conclude(t.close)
	case plan.Finish:
		s := t.s
		t.conclude(func() plan.Event { return t.finish(s) })
	case plan.Push:
		t.conclude(t.push)
	case plan.Clean:
		t.conclude(t.clean)
	default:
		t.o.Log.Error("the plan wants something unknown", "action", a.Kind)
	}
}

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
	for ctx.Err() == nil {
		watch.Await(ctx, changed, i.read(told))
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
