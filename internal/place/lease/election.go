// Package lease elects one of several processes by a Lease of a Kubernetes
// cluster.
//
// A holder renews the lease. A holder that could not renew it for RenewLimit must
// stop its work, because another may hold the lease after Duration. Clocks of
// different machines are not compared: each process measures with its own clock
// how long the lease has not changed, and a holder counts from when it sent its
// last renewal.
package lease

import (
	"context"
	"errors"
	"log"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const (
	// Duration is how long a lease must not have changed before somebody else
	// takes it.
	Duration = 15 * time.Second
	// RenewLimit is how long a holder may be unable to renew. The rest of
	// Duration is for what it has under way.
	RenewLimit = 10 * time.Second
	// Retry is the pause between tries.
	Retry = 2 * time.Second
)

// store is where the lease is: an API server.
type store interface {
	get(ctx context.Context) (*coordination.Lease, error) // fault.NotFound for none
	create(ctx context.Context, l *coordination.Lease) (*coordination.Lease, error)
	// update is refused as fault.Busy if the lease has changed since it was read.
	update(ctx context.Context, l *coordination.Lease) (*coordination.Lease, error)
}

// Election is one process's part in it. It is for one goroutine at a time.
type Election struct {
	store    store
	identity string

	seen    string    // the version of the lease that was last seen
	seenAt  time.Time // and since when
	renewed time.Time // when the last renewal that succeeded was sent
}

// Win waits until this process holds the lease.
func (e *Election) Win(ctx context.Context) error {
	told := ""
	for {
		held, err := e.try(ctx)
		if held || ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && fault.KindOf(err) != fault.Busy && err.Error() != told { // Busy: another was faster
			told = err.Error()
			log.Printf("%v; it is tried again", err)
		}
		if poll.Pause(ctx, Retry) != nil {
			return ctx.Err()
		}
	}
}

// Hold renews the lease until the context ends, and then returns nil. An error
// means that this process does not hold it any more, and must not act.
func (e *Election) Hold(ctx context.Context) error {
	var failed error
	for {
		left := time.Until(e.renewed.Add(RenewLimit))
		if left <= 0 {
			return fault.Errorf(fault.Unreachable, "the lease could not be renewed for %v: %w", RenewLimit, failed)
		}
		if poll.Pause(ctx, min(left, Retry)) != nil {
			return nil
		}
		limited, cancel := context.WithDeadline(ctx, e.renewed.Add(RenewLimit))
		held, err := e.try(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			failed = err
		case !held:
			return fault.Errorf(fault.Busy, "the lease has another holder")
		}
	}
}

// try takes the lease if nobody holds it, or renews it.
func (e *Election) try(ctx context.Context) (held bool, err error) {
	l, err := e.store.get(ctx)
	if fault.KindOf(err) == fault.NotFound {
		return e.write(ctx, &coordination.Lease{}, e.store.create)
	}
	if err != nil {
		return false, err
	}
	if l.ResourceVersion != e.seen {
		e.seen, e.seenAt = l.ResourceVersion, time.Now()
	}
	if h := holder(l); h != "" && h != e.identity && time.Since(e.seenAt) < duration(l) {
		return false, nil
	}
	return e.write(ctx, l, e.store.update)
}

// write makes this process the holder.
func (e *Election) write(ctx context.Context, l *coordination.Lease, by func(context.Context, *coordination.Lease) (*coordination.Lease, error)) (bool, error) {
	sent := time.Now()
	l = l.DeepCopy()
	now := metav1.NewMicroTime(sent)
	if holder(l) != e.identity {
		transitions := int32(0)
		if l.Spec.LeaseTransitions != nil {
			transitions = *l.Spec.LeaseTransitions + 1
		}
		l.Spec.HolderIdentity, l.Spec.AcquireTime, l.Spec.LeaseTransitions = &e.identity, &now, &transitions
	}
	seconds := int32(Duration / time.Second)
	l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &now, &seconds
	l, err := by(ctx, l)
	if err != nil {
		return false, err
	}
	e.seen, e.seenAt, e.renewed = l.ResourceVersion, sent, sent
	return true, nil
}

// Release lets the next one hold the lease at once. The caller has stopped
// acting.
func (e *Election) Release(ctx context.Context) error {
	l, err := e.store.get(ctx)
	if err != nil || holder(l) != e.identity {
		return err
	}
	l = l.DeepCopy()
	nobody, now := "", metav1.NewMicroTime(time.Now())
	l.Spec.HolderIdentity, l.Spec.RenewTime = &nobody, &now
	_, err = e.store.update(ctx, l)
	return err
}

// holder is who holds a lease, or held it last; "" for nobody.
func holder(l *coordination.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// duration is how long the holder of a lease asks others to wait.
func duration(l *coordination.Lease) time.Duration {
	if l.Spec.LeaseDurationSeconds == nil {
		return Duration
	}
	return time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
}

// Lease is one of a cluster.
type Lease struct {
	rest            *rest.RESTClient
	namespace, name string
}

// Open returns the lease of a name. Nothing is asked yet, and it need not be
// there.
func Open(config *rest.Config, namespace, name string) (*Lease, error) {
	scheme := runtime.NewScheme()
	if err := coordination.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &coordination.SchemeGroupVersion, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.UserAgent = "dend"
	api, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "use the cluster's configuration: %w", err)
	}
	return &Lease{rest: api, namespace: namespace, name: name}, nil
}

// Election is the part of one process in the election. The identity is its own
// alone, and stays when it is started again: then it need not wait.
func (l *Lease) Election(identity string) *Election { return &Election{store: l, identity: identity} }

// Holder returns who holds the lease, or held it last: "" for nobody,
// fault.NotFound where there is no such lease.
func (l *Lease) Holder(ctx context.Context) (string, error) {
	now, err := l.get(ctx)
	if err != nil {
		return "", err
	}
	return holder(now), nil
}

func (l *Lease) get(ctx context.Context) (*coordination.Lease, error) {
	now := &coordination.Lease{}
	err := l.rest.Get().Namespace(l.namespace).Resource("leases").Name(l.name).Do(ctx).Into(now)
	return now, l.explain("read", err)
}

func (l *Lease) create(ctx context.Context, want *coordination.Lease) (*coordination.Lease, error) {
	want.Name, want.Namespace = l.name, l.namespace
	made := &coordination.Lease{}
	err := l.rest.Post().Namespace(l.namespace).Resource("leases").Body(want).Do(ctx).Into(made)
	return made, l.explain("create", err)
}

func (l *Lease) update(ctx context.Context, want *coordination.Lease) (*coordination.Lease, error) {
	now := &coordination.Lease{}
	err := l.rest.Put().Namespace(l.namespace).Resource("leases").Name(l.name).Body(want).Do(ctx).Into(now)
	return now, l.explain("write", err)
}

// explain gives an answer of the API server its kind.
func (l *Lease) explain(verb string, err error) error {
	kind := fault.Unreachable
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		kind = fault.NotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		kind = fault.Busy
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		kind = fault.Denied
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind = fault.Timeout
	}
	return fault.Errorf(kind, "cluster: %s lease %s of namespace %s: %w", verb, l.name, l.namespace, err)
}
