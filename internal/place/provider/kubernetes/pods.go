package kubernetes

import (
	"context"
	"sync"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/place/provider"
	"den/internal/session/home"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// pods is what the one watch tells of the owner's pods. It is the store that the
// watch's reflector fills; the reflector sees to lists, expired versions and
// pauses between tries.
type pods struct {
	mu     sync.Mutex // guards the fields below
	byName map[string]*corev1.Pod
	synced chan struct{} // closed by the first list
	done   bool          // synced is closed
	subs   map[*subscription]struct{}
}

// subscription is told of changes. Take is called under the lock of pods, in the
// order of changes, and must not block: was or is is nil for a pod that comes or
// goes. At first it is called with all that there are, as if they came.
type subscription struct {
	take func(was, is *corev1.Pod)
}

func newPods() *pods {
	return &pods{byName: map[string]*corev1.Pod{}, synced: make(chan struct{}), subs: map[*subscription]struct{}{}}
}

var _ cache.ReflectorStore = (*pods)(nil)

// watch fills the store until the context ends.
func (s *pods) watch(ctx context.Context, c *client) {
	lw := cache.NewFilteredListWatchFromClient(c.rest, "pods", c.namespace, func(o *metav1.ListOptions) { o.LabelSelector = c.selector })
	cache.NewReflectorWithOptions(lw, &corev1.Pod{}, s, cache.ReflectorOptions{Name: "pods"}).RunWithContext(ctx)
}

// get returns a pod as it was last told, or nil.
func (s *pods) get(name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// subscribe calls take for all there are and for every change, until cancel.
func (s *pods) subscribe(take func(was, is *corev1.Pod)) (cancel func()) {
	sub := &subscription{take: take}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.byName {
		take(nil, p)
	}
	s.subs[sub] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subs, sub)
	}
}

func (s *pods) set(name string, is *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(name, is)
}

func (s *pods) setLocked(name string, is *corev1.Pod) {
	was := s.byName[name]
	if is == nil {
		delete(s.byName, name)
	} else {
		s.byName[name] = is
	}
	if was == nil && is == nil {
		return
	}
	if was != nil && is != nil && was.UID != is.UID { // one went and one came while nobody watched
		s.tellLocked(was, nil)
		was = nil
	}
	s.tellLocked(was, is)
}

func (s *pods) tellLocked(was, is *corev1.Pod) {
	for sub := range s.subs {
		sub.take(was, is)
	}
}

// Add and the others below are the reflector's.
func (s *pods) Add(o any) error    { return s.Update(o) }
func (s *pods) Resync() error      { return nil }
func (s *pods) Delete(o any) error { s.set(o.(*corev1.Pod).Name, nil); return nil }
func (s *pods) Update(o any) error { p := o.(*corev1.Pod); s.set(p.Name, p); return nil }

// Replace takes in a whole list.
func (s *pods) Replace(list []any, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := map[string]bool{}
	for name := range s.byName {
		left[name] = true
	}
	for _, o := range list {
		p := o.(*corev1.Pod)
		delete(left, p.Name)
		s.setLocked(p.Name, p)
	}
	for name := range left {
		s.setLocked(name, nil)
	}
	if !s.done {
		s.done = true
		close(s.synced)
	}
	return nil
}

// pod returns the session's pod as it is now, or nil where there is none.
func (p *Provider) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	if err := provider.CheckName(name); err != nil {
		return nil, err
	}
	pod, err := p.asked.ask(ctx, podName(p.Owner, name))
	if err != nil || !p.owns(pod, name) {
		return nil, err
	}
	return pod, nil
}

// owns reports whether a pod is that of a session. The raw names are compared:
// digests may meet.
func (p *Provider) owns(pod *corev1.Pod, name string) bool {
	return pod != nil && pod.Annotations[ownerNote] == p.Owner && pod.Annotations[nameNote] == name
}

// found is pod for sessions that were started: others are fault.NotFound.
func (p *Provider) found(ctx context.Context, name string) (*corev1.Pod, state, error) {
	pod, err := p.pod(ctx, name)
	if err != nil {
		return nil, state{}, err
	}
	if pod != nil {
		if s := stateOf(pod); s.session != nil {
			return pod, s, nil
		}
	}
	return nil, state{}, p.notFound(name)
}

func (p *Provider) notFound(name string) error {
	return fault.Errorf(fault.NotFound, "no session '%s' of owner '%s' in namespace '%s'", name, p.Owner, p.client.namespace)
}

// unknownError is the answer about a session whose node does not answer.
func unknownError(name string, s state) error {
	return fault.Hintf(fault.Errorf(fault.Unreachable, "session '%s': %s", name, s.trouble),
		"it is known again when its node answers, or when that is declared dead: 'kubectl delete node', or the taint node.kubernetes.io/out-of-service")
}

// await calls check with the session's pod, nil where there is none, whenever it
// changes, until it is done.
func (p *Provider) await(ctx context.Context, pod string, check func(*corev1.Pod) (done bool, err error)) error {
	if err := p.watched(ctx); err != nil {
		return err
	}
	changed := wake.New() // full: a change waits to be looked at already
	defer p.pods.subscribe(func(was, is *corev1.Pod) {
		if is != nil && is.Name == pod || was != nil && was.Name == pod {
			changed.Set()
		}
	})()
	now, err := p.client.get(ctx, pod)
	for {
		if err != nil {
			return err
		}
		if done, err := check(now); done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		// The watch may lag behind what was asked: that a pod is gone is
		// believed only from the API server itself.
		if now = p.pods.get(pod); now == nil {
			now, err = p.client.get(ctx, pod)
		}
	}
}

// awaitGone waits until a pod is gone: no process of it runs any more.
func (p *Provider) awaitGone(ctx context.Context, name string, pod *corev1.Pod) error {
	var last *corev1.Pod
	err := p.await(ctx, pod.Name, func(now *corev1.Pod) (bool, error) {
		if now == nil || now.UID != pod.UID {
			return true, nil
		}
		last = now
		if s := stateOf(now); s.stage == unknown {
			return false, unknownError(name, s)
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil && last != nil {
		return fault.Errorf(fault.Unreachable, "pod %s does not end: %w", pod.Name, err)
	}
	return err
}

// local is the record of the session in the Home, or nil where there is none.
func (p *Provider) local(name string) *home.Manifest {
	d, err := p.Home.Find(p.here.DenSession(name))
	if err != nil {
		return nil
	}
	m, err := d.Inspect()
	if err != nil {
		return nil
	}
	return m
}
