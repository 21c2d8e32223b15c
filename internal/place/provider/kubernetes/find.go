package kubernetes

import (
	"context"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/session/home"

	corev1 "k8s.io/api/core/v1"
)

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
	changed := make(chan struct{}, 1) // full: a change waits to be looked at already
	defer p.pods.subscribe(func(was, is *corev1.Pod) {
		if is != nil && is.Name == pod || was != nil && was.Name == pod {
			select {
			case changed <- struct{}{}:
			default:
			}
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
