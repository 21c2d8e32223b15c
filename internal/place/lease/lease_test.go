package lease_test

import (
	"net/http"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/lease"
	"den/internal/testkit/leasetest"

	"k8s.io/client-go/rest"
)

// Taking, renewing and letting go are the requests that a Role allows by get,
// create and update.
func TestRequests(t *testing.T) {
	s := leasetest.Start(t)
	l, err := lease.Open(&rest.Config{Host: s.URL}, leasetest.Namespace, leasetest.Name)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := l.Holder(ctx); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the holder of no lease: %v", err)
	}
	e := l.Election("den-0")
	holds := func(want string) {
		t.Helper()
		if h, err := l.Holder(ctx); h != want || err != nil {
			t.Errorf("the holder is %q, %v, want %q", h, err, want)
		}
	}
	for range 2 { // made, then renewed
		if err := e.Win(ctx); err != nil {
			t.Fatal(err)
		}
		holds("den-0")
	}
	if err := e.Release(ctx); err != nil {
		t.Fatal(err)
	}
	holds("")
	if err := l.Election("den-1").Win(ctx); err != nil {
		t.Fatal(err)
	}
	holds("den-1")
	if n := *s.Lease().Spec.LeaseTransitions; n != 1 { // to nobody is none
		t.Errorf("%d transitions", n)
	}
	s.Refuse(http.StatusForbidden)
	if _, err := l.Holder(ctx); fault.KindOf(err) != fault.Denied {
		t.Errorf("a lease that may not be read: %v", err)
	}
}
