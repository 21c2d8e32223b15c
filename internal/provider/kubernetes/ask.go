package kubernetes

import (
	"context"
	"sync"
	"time"

	"den/internal/fault"

	corev1 "k8s.io/api/core/v1"
)

// asker answers for single pods as they are now. Questions that come while
// another is on its way are answered together by one list, so a keeper of
// hundreds that asks about each costs the API server two requests and not
// hundreds.
type asker struct {
	client *client
	ctx    context.Context           // ends all questions
	spawn  func(do func()) (ok bool) // runs something, unless the provider is closed

	mu      sync.Mutex // guards the fields below
	waiting []*question
	busy    bool
}

type question struct {
	pod    string
	answer chan answer // has room for the only one
}

type answer struct {
	pod *corev1.Pod
	err error
}

// askLimit bounds one request for all who wait for it.
const askLimit = 30 * time.Second

// ask returns a pod as it is now, or nil where there is none.
func (a *asker) ask(ctx context.Context, pod string) (*corev1.Pod, error) {
	q := &question{pod: pod, answer: make(chan answer, 1)}
	a.mu.Lock()
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
	if len(batch) == 1 {
		p, err := a.client.get(ctx, batch[0].pod)
		batch[0].answer <- answer{p, err}
		return
	}
	list, err := a.client.list(ctx)
	byName := map[string]*corev1.Pod{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	for _, q := range batch {
		q.answer <- answer{byName[q.pod], err}
	}
}
