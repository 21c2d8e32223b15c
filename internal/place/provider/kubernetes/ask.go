package kubernetes

import (
	"context"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"

	corev1 "k8s.io/api/core/v1"
)

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
