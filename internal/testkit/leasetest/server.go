// Package leasetest is as much of an API server as one lease needs, for tests.
package leasetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace and Name are those of the lease.
const (
	Namespace = "agents"
	Name      = "den"
)

const leases = "/apis/coordination.k8s.io/v1/namespaces/" + Namespace + "/leases"

// Server keeps the lease.
type Server struct {
	URL string

	mu      sync.Mutex // guards the fields below
	lease   *coordination.Lease
	version int
	refused int // a status for all requests, or 0
}

// Start serves until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	api := httptest.NewServer(s)
	t.Cleanup(api.Close)
	s.URL = api.URL
	return s
}

// Kubeconfig is the text of a configuration that leads to the server.
func (s *Server) Kubeconfig() string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {}}]
contexts: [{name: test, context: {cluster: test, user: test, namespace: %s}}]
current-context: test
`, s.URL, Namespace)
}

// Lease returns the lease, or nil.
func (s *Server) Lease() *coordination.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.DeepCopy()
}

// Take gives the lease to somebody else, for so many seconds.
func (s *Server) Take(holder string, seconds int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lease.DeepCopy()
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = &holder, &seconds
	s.putLocked(l)
}

// Refuse answers all requests with a status.
func (s *Server) Refuse(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = status
}

func (s *Server) putLocked(l *coordination.Lease) {
	s.version++
	l.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	l.ResourceVersion = strconv.Itoa(s.version)
	s.lease = l
}

// ServeHTTP is the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	sent := &coordination.Lease{}
	if err != nil || len(body) > 0 && json.Unmarshal(body, sent) != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
		return
	}
	at := r.Method + " " + r.URL.Path
	switch {
	case s.refused != 0:
		refuse(w, s.refused, metav1.StatusReasonForbidden)
	case at == "GET "+leases+"/"+Name && s.lease == nil:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case at == "GET "+leases+"/"+Name:
		answer(w, http.StatusOK, s.lease)
	case at == "POST "+leases && s.lease == nil && sent.Name == Name,
		at == "PUT "+leases+"/"+Name && s.lease != nil && sent.ResourceVersion == s.lease.ResourceVersion:
		s.putLocked(sent)
		answer(w, http.StatusOK, s.lease)
	default:
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
	}
}

func refuse(w http.ResponseWriter, code int, why metav1.StatusReason) {
	answer(w, code, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: why})
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // Best effort: a client that left does not care.
}
