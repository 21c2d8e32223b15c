package lease

import (
	"context"
	"errors"

	"den/internal/base/fault"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

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
