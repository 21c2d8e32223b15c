package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/lease"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/workspace"
	"den/internal/testkit/leasetest"
)

// The pod to reach is the one that holds the lease.
func TestKeeperElsewhere(t *testing.T) {
	s := leasetest.Start(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(s.Kubeconfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := awayVerb{getenv: func(string) string { return "" }, cluster: kubernetes.Cluster{Kubeconfig: workspace.Path(path)}, lease: leasetest.Name}
	found := func(want string, kind fault.Kind) {
		t.Helper()
		if pod, err := r.keeper(t.Context()); pod != want || fault.KindOf(err) != kind {
			t.Errorf("the keeper is in %q, %v, want %q, %s", pod, err, want, kind)
		}
	}
	found("", fault.NotFound)
	r.verb = []string{"up"} // waits
	up := make(chan string, 1)
	go func() {
		pod, _ := r.begun(t.Context())
		up <- pod
	}()
	config, namespace, err := kubernetes.Config(r.cluster, r.getenv)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lease.Open(config, namespace, leasetest.Name)
	if err != nil {
		t.Fatal(err)
	}
	e := l.Election("den-0")
	if err := e.Win(t.Context()); err != nil {
		t.Fatal(err)
	}
	found("den-0", "")
	if pod := <-up; pod != "den-0" {
		t.Errorf("'up' has found the keeper in %q", pod)
	}
	if err := e.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	found("", fault.NotRunning)
}

// What does something is never run again.
func TestVerbsThatOnlyShow(t *testing.T) {
	for line, want := range map[string]bool{
		"attach s": true, "agent attach a": true, "dashboard": true, "watch s": true, "--home x attach": false,
		"ps": false, "agent ask a attach": false, "run s attach": false, "-j": false, "agent": false, "": false,
	} {
		if got := shows(strings.Fields(line)); got != want {
			t.Errorf("den %s only shows: %v", line, got)
		}
	}
}
