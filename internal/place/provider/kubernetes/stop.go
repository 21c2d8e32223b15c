package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"den/internal/base/fault"
	"den/internal/place/podhost"

	corev1 "k8s.io/api/core/v1"
)

// How long den in a pod may take to answer before the cluster is asked to end the
// pod, and how long its end may take to be known.
const (
	answerLimit = time.Minute
	endLimit    = 2 * time.Minute
)

// Stop ends the session. Its pod stands as its record.
func (p *Provider) Stop(ctx context.Context, name string) error {
	pod, err := p.pod(ctx, name)
	if err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	if pod == nil {
		return nil
	}
	s := stateOf(pod)
	switch {
	case s.over():
		return nil
	case s.session == nil:
		err = p.replace(ctx, name, pod)
	default:
		err = p.stopIn(ctx, name, pod)
	}
	if err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	return nil
}

// stopIn asks den in the pod to end the session, and the cluster to end the pod
// where den does not answer.
func (p *Provider) stopIn(ctx context.Context, name string, pod *corev1.Pod) error {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	err := p.tell(limited, pod, podhost.MethodStop, podhost.Stop{Grace: p.Grace}, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if rerr := p.client.remove(ctx, pod, graceSeconds); rerr != nil {
			return errors.Join(rerr, err)
		}
		return p.awaitGone(ctx, name, pod)
	}
	return p.awaitEnd(ctx, pod)
}

// awaitEnd waits until the end of a session is known to all. Its bridge writes it
// down, that of this provider or of another process.
func (p *Provider) awaitEnd(ctx context.Context, pod *corev1.Pod) error {
	limited, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	err := p.await(limited, pod.Name, func(now *corev1.Pod) (bool, error) {
		return now == nil || now.UID != pod.UID || stateOf(now).over(), nil
	})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return fault.Errorf(fault.Unreachable, "its processes have ended, but pod %s does not: %w", pod.Name, err)
	}
	return err
}

// noteEnd writes down how the session ended, for all who look at the pod.
func (p *Provider) noteEnd(ctx context.Context, pod *corev1.Pod, end podhost.End) error {
	raw, err := json.Marshal(end)
	if err != nil {
		return err
	}
	_, err = p.client.annotate(ctx, pod, "", pointers(map[string]string{endedNote: string(raw)}))
	return err
}

// Interrupt presses Ctrl-C.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	return p.SendKeys(ctx, name, "C-c")
}

// pruneAge is how long a session has been over before PruneOld removes its pod.
const pruneAge = 24 * time.Hour

// PruneOld removes the pods of sessions that were over for a day, and those that
// were prepared and never used.
func (p *Provider) PruneOld(ctx context.Context) error {
	list, err := p.client.list(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		pod := &list.Items[i]
		s := stateOf(pod)
		since := pod.CreationTimestamp.Time
		if s.exit != nil && !s.exit.At.IsZero() {
			since = s.exit.At
		}
		if (s.over() || s.session == nil && !s.claimed && s.stage != unknown) && time.Since(since) > pruneAge {
			errs = append(errs, p.client.remove(ctx, pod, killSeconds))
		}
	}
	return errors.Join(errs...)
}
