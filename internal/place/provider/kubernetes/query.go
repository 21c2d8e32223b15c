package kubernetes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/place/podhost"
	"den/internal/place/provider"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// IsRunning asks the cluster. A session whose node does not answer is an error.
func (p *Provider) IsRunning(ctx context.Context, name string) (bool, error) {
	pod, err := p.pod(ctx, name)
	if err != nil || pod == nil {
		return false, err
	}
	s := stateOf(pod)
	switch s.stage {
	case unknown:
		return false, unknownError(name, s)
	case running:
		return p.stillRuns(ctx, pod)
	}
	return false, nil
}

// stillRuns reports whether a session runs of which its pod's notes say so. They
// are written by whoever follows the session: while nobody did, it may have ended.
// Then den in the pod knows, and the end is written down first.
func (p *Provider) stillRuns(ctx context.Context, pod *corev1.Pod) (bool, error) {
	p.mu.Lock()
	b := p.bridges[pod.UID]
	p.mu.Unlock()
	if b != nil && b.isUp() {
		return true, nil
	}
	var status podhost.Status
	if err := p.tell(ctx, pod, podhost.MethodStatus, nil, &status); err != nil {
		// Its end may have been written down since the notes were read.
		if now, gerr := p.client.get(ctx, pod.Name); gerr == nil && (now == nil || now.UID != pod.UID || stateOf(now).over()) {
			p.unlink(pod.UID)
			return false, nil
		}
		return false, err
	}
	if status.State != podhost.Ended {
		return true, nil
	}
	return false, p.awaitEnd(ctx, pod)
}

// ProcessAlive asks den in the pod.
func (p *Provider) ProcessAlive(ctx context.Context, name string, processNames []string) (bool, error) {
	pod, err := p.pod(ctx, name)
	if err != nil || pod == nil {
		return false, err
	}
	s := stateOf(pod)
	switch {
	case s.stage == unknown:
		return false, unknownError(name, s)
	case s.stage != running:
		return false, nil
	case len(processNames) == 0:
		return p.stillRuns(ctx, pod)
	}
	var alive bool
	err = p.tell(ctx, pod, podhost.MethodAlive, podhost.Alive{Names: processNames}, &alive)
	return alive, err
}

// ListRunning asks the cluster once.
func (p *Provider) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	list, err := p.client.list(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		pod := &list.Items[i]
		name := pod.Annotations[nameNote]
		if !p.owns(pod, name) || !strings.HasPrefix(name, prefix) {
			continue
		}
		switch s := stateOf(pod); s.stage {
		case running:
			names = append(names, name)
		case unknown:
			return nil, unknownError(name, s)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Observe asks the cluster once. Of a session whose node does not answer nothing is
// known: it is left out, and who asks for it alone is told.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	list, err := p.client.list(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]provider.Observation{}
	for i := range list.Items {
		pod := &list.Items[i]
		name, s := pod.Annotations[nameNote], stateOf(pod)
		if s.session == nil || s.stage == unknown || !p.owns(pod, name) || !strings.HasPrefix(name, prefix) {
			continue
		}
		all[name] = provider.Observation{Running: !s.over(), Exit: s.exit, Meta: metaOf(pod)}
	}
	return all, nil
}

// Exit tells how the session's command ended: from its pod or, when that is gone,
// from its record in the Home.
func (p *Provider) Exit(ctx context.Context, name string) (*provider.Exit, error) {
	pod, err := p.pod(ctx, name)
	if err != nil {
		return nil, err
	}
	if pod != nil {
		if s := stateOf(pod); s.session != nil {
			return s.exit, nil
		}
	}
	if m := p.local(name); m != nil && m.Status.Final() {
		e, err := p.here.Exit(ctx, name)
		if e != nil {
			e.Place = m.Labels[placeLabel]
		}
		return e, err
	}
	return nil, p.notFound(name)
}

// Trouble tells what is wrong with a session's pod, in the cluster's own words;
// nil where nothing is.
func (p *Provider) Trouble(ctx context.Context, name string) (*Trouble, error) {
	pod, err := p.pod(ctx, name)
	if err != nil {
		return nil, err
	}
	if pod == nil {
		return nil, p.notFound(name)
	}
	events, err := p.client.events(ctx, pod)
	if err != nil && fault.KindOf(err) != fault.Denied {
		return nil, err
	}
	return troubleOf(pod, events), nil
}

// Watch tells of starts and ends, whoever makes them. It is fed by the
// one watch of pods, which goes on by itself when the API server was away.
func (p *Provider) Watch(ctx context.Context) (<-chan provider.Event, error) {
	if err := p.watched(ctx); err != nil {
		return nil, err
	}
	w := &watch{p: p, begun: map[types.UID]bool{}, over: map[types.UID]bool{}, news: wake.New()}
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
	news wake.Signal // full: there is something in the queue

	mu      sync.Mutex // guards the fields below
	telling bool
	begun   map[types.UID]bool // whose start was told, or was before the call
	over    map[types.UID]bool // whose end was
	queue   provider.EventQueue
}

// take is called under the lock of pods.
func (w *watch) take(was, is *corev1.Pod) {
	pod := cmp.Or(is, was)
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
	w.news.Set()
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
