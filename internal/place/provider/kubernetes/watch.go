package kubernetes

import (
	"context"
	"sync"

	"den/internal/place/provider"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Watch tells of starts, ends and metadata, whoever makes them. It is fed by the
// one watch of pods, which goes on by itself when the API server was away.
func (p *Provider) Watch(ctx context.Context) (<-chan provider.Event, error) {
	if err := p.watched(ctx); err != nil {
		return nil, err
	}
	w := &watch{p: p, begun: map[types.UID]bool{}, over: map[types.UID]bool{}, news: make(chan struct{}, 1)}
	cancel := p.pods.subscribe(w.take)
	w.mu.Lock()
	w.telling = true // what there was is not told
	w.mu.Unlock()
	events := make(chan provider.Event) // its receiver may be slow: the queue merges them
	if !p.spawn(func() {
		defer close(events)
		defer cancel()
		w.run(ctx, events)
	}) {
		cancel()
		close(events)
	}
	return events, nil
}

// watch is one call of Watch.
type watch struct {
	p    *Provider
	news chan struct{} // full: there is something in the queue

	mu      sync.Mutex // guards the fields below
	telling bool
	begun   map[types.UID]bool // whose start was told, or was before the call
	over    map[types.UID]bool // whose end was
	queue   provider.EventQueue
}

// take is called under the lock of pods.
func (w *watch) take(was, is *corev1.Pod) {
	pod := is
	if pod == nil {
		pod = was
	}
	name, s := pod.Annotations[nameNote], stateOf(pod)
	if !w.p.owns(pod, name) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.session != nil && !w.begun[pod.UID] {
		w.begun[pod.UID] = true
		w.addLocked(name, provider.Started)
	}
	if w.begun[pod.UID] && !w.over[pod.UID] && (s.over() || is == nil) {
		w.over[pod.UID] = true
		w.addLocked(name, provider.Ended)
	}
	if is == nil {
		delete(w.begun, pod.UID)
		delete(w.over, pod.UID)
	}
}

func (w *watch) addLocked(name string, change provider.Change) {
	if !w.telling {
		return
	}
	w.queue.Add(provider.Event{Name: name, Change: change})
	select {
	case w.news <- struct{}{}:
	default:
	}
}

func (w *watch) run(ctx context.Context, out chan<- provider.Event) {
	for {
		w.mu.Lock()
		to, next := w.queue.Next(out)
		w.mu.Unlock()
		select {
		case to <- next:
			w.mu.Lock()
			w.queue.Sent()
			w.mu.Unlock()
		case <-w.news:
		case <-ctx.Done():
			return
		case <-w.p.ctx.Done():
			return
		}
	}
}
