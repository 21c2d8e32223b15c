package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/place/podhost"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/session/home"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Options says where sessions run and whose they are.
type Options struct {
	Home    home.Home // in which the sessions appear
	Owner   string    // whose sessions and pods these are
	Binary  string    // den, as an absolute path; static, because it is copied into any image
	Version string    // this build's, for hosts to know who calls
	// Grace is how long each way of asking a session to end may take before
	// the next, harder one; 0 means 3 seconds.
	Grace   time.Duration
	Cluster Cluster
	Getenv  func(string) string // or nil for this process's environment
}

// Provider runs sessions in pods.
type Provider struct {
	Options
	here   *native.Provider // the sessions as they appear in the Home
	client *client
	pods   *pods
	asked  asker

	begin   sync.Once
	ctx     context.Context // of all that runs for the provider; ended by Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below; taken under the lock of pods, never the other way
	closed  bool
	links   map[types.UID]*link
	bridges map[types.UID]*bridge
}

var (
	_ provider.Provider   = (*Provider)(nil)
	_ provider.Away       = (*Provider)(nil)
	_ provider.OnTerminal = (*Provider)(nil)
	_ provider.InHome     = (*Provider)(nil)
	_ provider.Pruner     = (*Provider)(nil)
)

// Away says that working directories are in pods.
func (p *Provider) Away() {}

const defaultGrace = 3 * time.Second

// Open returns the provider. The API server is not asked yet.
func Open(o Options) (*Provider, error) {
	if o.Owner == "" {
		return nil, fault.Errorf(fault.Usage, "open kubernetes provider: no owner is given")
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	o.Cluster = o.Cluster.withDefaults(o.Getenv)
	// A Home may hold sessions of this machine of the same owner, which are not
	// for this provider to list or to stop.
	here, err := native.Open(native.Options{Home: o.Home, Owner: o.Owner + "@" + Kind, Binary: o.Binary, Version: o.Version, Grace: o.Grace})
	if err != nil {
		return nil, err
	}
	c, err := connect(o.Cluster, o.Owner, o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("open kubernetes provider: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Provider{
		Options: o, here: here, client: c, pods: newPods(), ctx: ctx, cancel: cancel,
		links: map[types.UID]*link{}, bridges: map[types.UID]*bridge{},
	}
	p.asked = asker{client: c, ctx: ctx, spawn: p.spawn, clock: time.Now}
	return p, nil
}

// spawn runs something that Close waits for. It reports false where the provider
// is closed: then nothing is run.
func (p *Provider) spawn(do func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Go(do)
	return true
}

// Close lets go of the cluster. Sessions go on.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	links := p.links
	p.links = map[types.UID]*link{}
	p.mu.Unlock()
	p.cancel()
	for _, l := range links {
		l.close()
	}
	p.running.Wait()
	return nil
}

// watched begins the watch, and waits until it has told of all pods.
func (p *Provider) watched(ctx context.Context) error {
	p.begin.Do(func() {
		p.spawn(func() { p.pods.watch(p.ctx, p.client) })
		p.spawn(func() {
			cancel := p.pods.subscribe(p.told)
			<-p.ctx.Done()
			cancel()
		})
	})
	select {
	case <-p.pods.synced:
		return nil
	case <-ctx.Done():
		return fault.Errorf(fault.Unreachable, "watch pods: the cluster does not answer: %w", ctx.Err())
	case <-p.ctx.Done():
		return fault.Errorf(fault.Unreachable, "watch pods: the provider is closed")
	}
}

// told is called with every change of the owner's pods, under the lock of pods.
func (p *Provider) told(was, is *corev1.Pod) {
	pod := cmp.Or(is, was)
	p.asked.changed(pod.Name)
	p.follow(was, is)
}

// linkTo returns the stream into a pod.
func (p *Provider) linkTo(pod *corev1.Pod) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.links[pod.UID]
	if l == nil {
		l = &link{client: p.client, pod: pod.Name, closed: p.closed}
		p.links[pod.UID] = l
	}
	return l
}

// unlink ends the stream into a pod that is over.
func (p *Provider) unlink(uid types.UID) {
	p.mu.Lock()
	l := p.links[uid]
	delete(p.links, uid)
	p.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// tell asks the first process of a pod for one thing.
func (p *Provider) tell(ctx context.Context, pod *corev1.Pod, method string, params, result any) error {
	return podhost.Call(ctx, p.linkTo(pod).dialer(podhost.Header{To: podhost.ToPod}), p.Version, method, params, result)
}

// asker answers for single pods as they are now. Questions that come while
// another is on its way are answered together by one list, so a keeper of
// hundreds that asks about each costs the API server two requests and not
// hundreds. Those that are asked over and over (see provider.Lately) share a list
// for some seconds.
type asker struct {
	client *client
	ctx    context.Context           // ends all questions
	spawn  func(do func()) (ok bool) // runs something, unless the provider is closed
	clock  func() time.Time

	mu      sync.Mutex // guards the fields below
	waiting []*question
	busy    bool
	last    listed
}

// listed is what the last list told, without the pods that have changed since.
type listed struct {
	at      time.Time
	pods    map[string]*corev1.Pod
	changed map[string]bool
}

type question struct {
	pod    string
	lately bool        // a list is worth its while: others will ask
	answer chan answer // has room for the only one
}

type answer struct {
	pod *corev1.Pod
	err error
}

const (
	// askLimit bounds one request for all who wait for it.
	askLimit = 30 * time.Second
	// latelyAge is how old a list may be that is shared. The watch tells of
	// what changes meanwhile; the age is for a watch that broke unnoticed.
	latelyAge = 10 * time.Second
)

// ask returns a pod as it is now, or nil where there is none.
func (a *asker) ask(ctx context.Context, pod string) (*corev1.Pod, error) {
	q := &question{pod: pod, lately: provider.IsLately(ctx), answer: make(chan answer, 1)}
	a.mu.Lock()
	if q.lately && a.last.knows(pod, a.clock()) {
		defer a.mu.Unlock()
		return a.last.pods[pod], nil
	}
	a.waiting = append(a.waiting, q)
	begin := !a.busy
	a.busy = true
	a.mu.Unlock()
	if begin && !a.spawn(a.work) { // it ends when nobody waits
		return nil, fault.Errorf(fault.Unreachable, "ask for pod %s: the provider is closed", pod)
	}
	select {
	case r := <-q.answer:
		return r.pod, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.ctx.Done():
		return nil, fault.Errorf(fault.Unreachable, "ask for pod %s: the provider is closed", pod)
	}
}

// knows reports whether the list tells of a pod as it is, as far as was heard.
func (l *listed) knows(pod string, now time.Time) bool {
	return l.pods != nil && now.Sub(l.at) < latelyAge && !l.changed[pod]
}

// changed notes that a pod is not as the last list had it.
func (a *asker) changed(pod string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last.pods != nil {
		a.last.changed[pod] = true
	}
}

func (a *asker) work() {
	for {
		a.mu.Lock()
		batch := a.waiting
		a.waiting = nil
		if len(batch) == 0 {
			a.busy = false
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(a.ctx, askLimit)
		a.answer(ctx, batch)
		cancel()
	}
}

func (a *asker) answer(ctx context.Context, batch []*question) {
	if len(batch) == 1 && !batch[0].lately {
		p, err := a.client.get(ctx, batch[0].pod)
		batch[0].answer <- answer{p, err}
		return
	}
	byName, err := a.list(ctx)
	for _, q := range batch {
		q.answer <- answer{byName[q.pod], err}
	}
}

// list asks for all pods, and keeps the answer for those who are content with it.
func (a *asker) list(ctx context.Context) (map[string]*corev1.Pod, error) {
	next := listed{at: a.clock(), pods: map[string]*corev1.Pod{}, changed: map[string]bool{}}
	// What changes while the list is on its way may or may not be in it: it is
	// noted in the one that is kept.
	a.mu.Lock()
	a.last = listed{pods: map[string]*corev1.Pod{}, changed: next.changed}
	a.mu.Unlock()
	list, err := a.client.list(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		next.pods[list.Items[i].Name] = &list.Items[i]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = next
	return next.pods, nil
}
