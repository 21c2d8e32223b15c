package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/place/workspace"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiWith is an API server that knows of pods "a" and "b", and counts requests.
func apiWith(t *testing.T) (*client, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	pod := func(name string) corev1.Pod {
		return corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var answer any = corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod("a"), pod("b")}}
		if _, name, one := strings.Cut(r.URL.Path, "/pods/"); one {
			answer = pod(name)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}`, server.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := connect(Cluster{Kubeconfig: workspace.Path(config)}, "o", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

// Who asks over and over shares what was told in the last seconds, and nobody
// else does.
func TestQuestionsShareAList(t *testing.T) {
	c, requests := apiWith(t)
	now := time.Now()
	a := &asker{client: c, ctx: t.Context(), spawn: func(do func()) bool { go do(); return true }, clock: func() time.Time { return now }}
	lately := provider.Lately(t.Context())
	ask := func(ctx context.Context, pod string, want int64, why string) {
		t.Helper()
		before := requests.Load()
		p, err := a.ask(ctx, pod)
		if err != nil || p == nil || p.Name != pod {
			t.Fatalf("pod %s is %v, %v", pod, p, err)
		}
		if got := requests.Load() - before; got != want {
			t.Errorf("%s: %d requests for pod %s, want %d", why, got, pod, want)
		}
	}
	ask(t.Context(), "a", 1, "the first")
	ask(lately, "a", 1, "a single pod says nothing of others")
	ask(lately, "b", 0, "shared")
	ask(lately, "a", 0, "shared")
	ask(t.Context(), "a", 1, "as it is now")
	a.changed("a")
	ask(lately, "b", 0, "another changed")
	ask(lately, "a", 1, "it changed")
	ask(lately, "a", 0, "shared again")
	now = now.Add(latelyAge)
	ask(lately, "b", 1, "too old")
	if p, err := a.ask(lately, "c"); p != nil || err != nil {
		t.Errorf("a pod that is not there is %v, %v", p, err)
	}
}
