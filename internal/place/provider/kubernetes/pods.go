package kubernetes

import (
	"context"
	"sync"

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
