package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"log"
	"maps"
	"net"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/base/wake"
	"den/internal/place/podhost"
	"den/internal/place/provider"
	"den/internal/place/provider/local"
	"den/internal/screen/eventlog"
	"den/internal/session"
	"den/internal/session/home"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bridge makes a session in a pod appear in the Home: it holds the session's lock
// there, serves its socket and copies its log as it grows. When the session is
// over it fetches what is left, closes the records here and in the cluster, and
// lets the pod end. It goes on over streams that break.
type bridge struct {
	p    *Provider
	name string // of the session
	pod  *corev1.Pod
	link *link

	up   chan struct{} // closed when the session can be reached in the Home
	once sync.Once     // closes up
	over chan struct{} // closed when the pod has ended, or is gone
	done chan struct{} // closed when the bridge is gone
	news wake.Signal   // full: the pod has changed

	toldToEnd bool // the pod was, and so the session ended; of the bridge's own goroutine

	mu    sync.Mutex  // guards the fields below
	last  *corev1.Pod // as it was last told
	ended bool        // over is closed
}

// follow is told of every change of the owner's pods, under the lock of pods.
func (p *Provider) follow(was, is *corev1.Pod) {
	pod := cmp.Or(is, was)
	s := stateOf(pod)
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.bridges[pod.UID]
	if b == nil && is != nil && (s.stage == running || s.stage == unknown && s.session != nil) {
		b = p.bridgeLocked(pod)
	}
	if b == nil {
		return
	}
	if is == nil && was.DeletionTimestamp == nil { // that it goes was not seen
		pod = was.DeepCopy()
		pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	}
	b.told(pod, is == nil || s.over())
}

// bridgeLocked begins the bridge of a session that runs.
func (p *Provider) bridgeLocked(pod *corev1.Pod) *bridge {
	if p.closed {
		return nil
	}
	l := p.links[pod.UID]
	if l == nil {
		l = &link{client: p.client, pod: pod.Name}
		p.links[pod.UID] = l
	}
	b := &bridge{
		p: p, name: pod.Annotations[nameNote], pod: pod, link: l, last: pod,
		up: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}), news: wake.New(),
	}
	p.bridges[pod.UID] = b
	p.running.Go(b.run)
	return b
}

// told takes in how the pod is now.
func (b *bridge) told(pod *corev1.Pod, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = pod
	if over && !b.ended {
		b.ended = true
		close(b.over)
	}
	b.news.Set()
}

// bridged begins the bridge of a session that was started, and waits until it can
// be reached in the Home.
func (p *Provider) bridged(ctx context.Context, pod *corev1.Pod) error {
	p.mu.Lock()
	b := p.bridges[pod.UID]
	if b == nil {
		b = p.bridgeLocked(pod)
	}
	p.mu.Unlock()
	if b == nil {
		return fault.Errorf(fault.Unreachable, "the provider is closed")
	}
	select {
	case <-b.up:
		return nil
	case <-b.done: // it is over already
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isUp reports whether the session can be reached in the Home.
func (b *bridge) isUp() bool { return wake.IsClosed(b.up) }

// How long to wait before a pod that could not be reached is tried again.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// run is the bridge's life.
func (b *bridge) run() {
	ctx, cancel := context.WithCancel(b.p.ctx)
	defer cancel()
	defer func() {
		b.p.mu.Lock()
		delete(b.p.bridges, b.pod.UID)
		b.p.mu.Unlock()
		b.p.unlink(b.pod.UID)
		close(b.done)
	}()
	status, ok := b.status(ctx)
	if !ok || status.Session == nil {
		return
	}
	a, err := b.adopt(ctx, status.Session)
	if err != nil {
		if ctx.Err() == nil && fault.KindOf(err) != fault.NotRunning {
			log.Printf("session '%s' of pod %s does not appear in the Home: %v", b.name, b.pod.Name, err)
		}
		return
	}
	end, ok := b.serve(ctx, a)
	if !ok {
		if err := a.Leave(); err != nil {
			log.Printf("let go of session '%s': %v", b.name, err)
		}
		return
	}
	b.close(ctx, a, end)
}

// status asks the pod until it answers. It reports false where the pod is over or
// the bridge is to end.
func (b *bridge) status(ctx context.Context) (s podhost.Status, ok bool) {
	ok = b.retry(ctx, func() error { return b.p.tell(ctx, b.pod, podhost.MethodStatus, nil, &s) })
	return s, ok
}

// retry calls do until it succeeds. It reports false where the pod is over first,
// or the context ends.
func (b *bridge) retry(ctx context.Context, do func() error) bool {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		if do() == nil {
			return true
		}
		select {
		case <-time.After(pause):
		case <-b.over:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// How often it is looked whether another process makes the session appear here.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

// adopt waits until this process may stand in for the session's host. While
// another one does, the session can be reached all the same.
func (b *bridge) adopt(ctx context.Context, m *home.Manifest) (*home.Adopted, error) {
	for look := firstLook; ; look = min(2*look, lastLook) {
		short, cancel := context.WithTimeout(ctx, look)
		a, err := b.p.Home.Adopt(short, m)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return a, err
		}
		if now, err := b.p.Home.Dir(m.ID).Inspect(); err == nil && now.Status.Active() {
			b.once.Do(func() { close(b.up) })
		}
	}
}

// lastWordsLimit is how long connections to a session that is over may go on.
const lastWordsLimit = 5 * time.Second

// serve makes the session reachable until it is over, and returns how it ended.
// It reports false where it is not over, as far as is known.
func (b *bridge) serve(ctx context.Context, a *home.Adopted) (*home.Manifest, bool) {
	l, err := rpc.Listen(a.Record.Socket)
	if err != nil {
		log.Printf("serve session '%s': %v", b.name, err)
		return nil, false
	}
	serving, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { b.accept(serving, l, a.Dir.ID) })
	defer func() {
		l.Close() // Best effort: the socket goes with it.
		// The host's last words are on their way to whoever is connected.
		cut := time.AfterFunc(lastWordsLimit, stop)
		parts.Wait()
		cut.Stop()
		stop()
	}()
	b.once.Do(func() { close(b.up) })
	return b.mirror(ctx, a)
}

// accept passes connections of this machine on to the host in the pod.
func (b *bridge) accept(ctx context.Context, l *net.UnixListener, id string) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return // it was closed
		}
		open.Go(func() {
			defer conn.Close() // Best effort: both ways have ended.
			if rpc.CheckClient(conn) != nil {
				return
			}
			remote, ok := b.reconnect(ctx, podhost.Header{To: podhost.ToHost, ID: id})
			if !ok {
				return // the caller sees that nobody is there
			}
			defer context.AfterFunc(ctx, func() { remote.Close(); conn.Close() })()
			podhost.Join(conn, conn, remote, remote)
		})
	}
}

// reconnectLimit is how long a caller is kept waiting for a stream that broke: a
// caller itself waits no longer for a host to say hello.
const reconnectLimit = 9 * time.Second

// reconnect opens a connection in the pod, also when the stream has to be opened
// anew and that takes a few tries.
func (b *bridge) reconnect(ctx context.Context, h podhost.Header) (conn net.Conn, ok bool) {
	limited, cancel := context.WithTimeout(ctx, reconnectLimit)
	defer cancel()
	ok = b.retry(limited, func() (err error) {
		conn, err = b.link.open(limited, h)
		return err
	})
	return conn, ok
}

// mirror copies the log until the session is over, and returns its record.
func (b *bridge) mirror(ctx context.Context, a *home.Adopted) (*home.Manifest, bool) {
	host := session.In(home.Dir{ID: a.Dir.ID}, session.Options{
		Version: b.p.Version, Remote: true,
		Dial: func(ctx context.Context, _ *home.Manifest) (net.Conn, error) {
			return b.link.open(ctx, podhost.Header{To: podhost.ToHost, ID: a.Dir.ID})
		},
	})
	notes, stop := b.noteChanges(ctx, a)
	var end *home.Manifest
	ok := b.retry(ctx, func() error {
		merr := host.Mirror(ctx, a.Dir.Log(), notes)
		var s podhost.Status
		if err := b.p.tell(ctx, b.pod, podhost.MethodStatus, nil, &s); err != nil {
			return err
		}
		if s.State == podhost.Running {
			if merr != nil && fault.KindOf(merr) != fault.NotRunning {
				return merr // the stream broke: go on from where it did
			}
			if err := b.p.tell(ctx, b.pod, podhost.MethodAwait, nil, &s); err != nil {
				return err
			}
		}
		if err := b.fetch(ctx, a.Dir, s.Session); err != nil {
			return err
		}
		end, b.toldToEnd = s.Session, s.Told
		return nil
	})
	stop()
	if ok {
		return end, true
	}
	if ctx.Err() != nil {
		return nil, false
	}
	return b.lost(a), true // the pod went first
}

// noteChanges keeps what the host notes of its program in the record here, where
// those find it who list sessions. each is to be told of the log's events, and
// stop ends it.
func (b *bridge) noteChanges(ctx context.Context, a *home.Adopted) (each func(eventlog.Event), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	due := wake.New() // full: there is something new to ask for
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-due:
			case <-ctx.Done():
				return
			}
			var s podhost.Status
			err := b.p.tell(ctx, b.pod, podhost.MethodStatus, nil, &s)
			if err == nil && s.State == podhost.Running && s.Session != nil {
				err = a.Note(s.Session.Noted)
			}
			if err != nil && ctx.Err() == nil {
				log.Printf("note what the program of session '%s' does: %v", b.name, err)
			}
		}
	})
	each = func(e eventlog.Event) {
		if _, activity := e.ActivityNote(); !activity && e.Code != eventlog.Cell {
			return
		}
		due.Set()
	}
	return each, func() { cancel(); asking.Wait() }
}

// lost is the record of a session whose pod went before all could be fetched.
func (b *bridge) lost(a *home.Adopted) *home.Manifest {
	b.mu.Lock()
	last := b.last
	b.mu.Unlock()
	m := *a.Record
	m.Status, m.Ended = home.Lost, time.Now().UTC()
	if e := exitOf(last); e != nil && e.Code >= 0 {
		m.Status, m.ExitCode, m.ExitSignal = home.Exited, &e.Code, e.Signal
		if !e.At.IsZero() {
			m.Ended = e.At
		}
	}
	return &m
}

// placeLabel is the label of a record that says why the cluster ended its pod: the
// pod itself may be gone when somebody asks.
const placeLabel = "den.place"

// place is why the cluster ended the pod, "" where it did not.
func (b *bridge) place() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return placeOf(b.last)
}

// reasonLimit is how long the cluster may take to say why it ended a pod.
const reasonLimit = 5 * time.Second

// awaitReason waits until it says so: without, the end would be one of the
// session's own.
func (b *bridge) awaitReason(ctx context.Context) {
	late := time.NewTimer(reasonLimit)
	defer late.Stop()
	for b.place() == "" {
		select {
		case <-b.news:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// placed adds to a record why the cluster ended its pod, if it did.
func (b *bridge) placed(end *home.Manifest) *home.Manifest {
	place := b.place()
	if place == "" {
		return end
	}
	m := *end
	m.Labels = maps.Clone(end.Labels)
	m.Labels[placeLabel] = place
	return &m
}

// fetch copies the files of a session that is over; its log only if the copy is
// not whole.
func (b *bridge) fetch(ctx context.Context, d home.Dir, end *home.Manifest) error {
	copied, err := eventlog.OpenMirror(d.Log())
	if err != nil {
		return err
	}
	whole := end.FinalSeq > 0 && copied.Seq() >= end.FinalSeq
	if err := copied.Close(); err != nil {
		return err
	}
	conn, err := b.link.open(ctx, podhost.Header{To: podhost.ToFiles, ID: d.ID, SkipLog: whole})
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: all was read.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return local.Place{}.Stage(ctx, b.name, provider.Config{WorkDir: d.Path}, conn, provider.StageOptions{})
}

// close closes the records of a session that is over, here and in the cluster,
// and lets its pod end.
func (b *bridge) close(ctx context.Context, a *home.Adopted, end *home.Manifest) {
	if b.toldToEnd {
		b.awaitReason(ctx)
	}
	end = b.placed(end)
	if err := a.Close(end); err != nil {
		log.Printf("close the record of session '%s': %v", b.name, err)
	}
	// The pod leaves word of the end in its status; but that takes a second.
	_ = b.p.tell(ctx, b.pod, podhost.MethodRelease, nil, nil) // Best effort: without it the pod waits in vain, and ends later.
	b.retry(ctx, func() error {
		err := b.p.noteEnd(ctx, b.pod, podhost.EndOf(end))
		if fault.KindOf(err) == fault.NotFound {
			return nil // the pod is gone
		}
		return err
	})
}
