package kubernetes_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/workspace"
)

// begun starts sessions that print numbered lines until they are nudged.
func begun(t *testing.T, p *kubernetes.Provider, names ...string) {
	t.Helper()
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { errs[i] = p.Start(t.Context(), name, marked(ownerOf(t), name, "/bin/sh", "-c", counting)) })
		t.Cleanup(func() { stopped(t, p, name) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// finished nudges such a session to its end, and returns how many lines its log
// has: all of them, from the first on.
func finished(t *testing.T, p *kubernetes.Provider, root, name string, shown int) int {
	t.Helper()
	eventually(t, name+" can be nudged", func() bool { return p.Nudge(t.Context(), name, "stop") == nil })
	if e := exitOf(t, p, name); e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
	return nothingLost(t, root, p.DenSession(name), shown)
}

// answers waits until the provider says that a session runs, and returns for how
// long.
func answers(t *testing.T, p *kubernetes.Provider, name string) time.Duration {
	t.Helper()
	from := time.Now()
	eventually(t, name+" runs", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), askLimit)
		defer cancel()
		running, err := p.IsRunning(ctx, name)
		return err == nil && running
	})
	return time.Since(from)
}

// goesOn waits until a session shows more lines, and returns for how long.
func goesOn(t *testing.T, p *kubernetes.Provider, name string, shown int) time.Duration {
	t.Helper()
	from := time.Now()
	eventually(t, name+" shows more", func() bool {
		text, err := p.Peek(t.Context(), name, 0)
		return err == nil && numbered(text) > shown
	})
	return time.Since(from)
}

// noSecond tries to start a session that runs.
func noSecond(t *testing.T, p *kubernetes.Provider, name string, want fault.Kind) {
	t.Helper()
	if err := p.Start(t.Context(), name, marked(ownerOf(t), name, "/bin/cat")); fault.KindOf(err) != want {
		t.Errorf("a second start of %s: %v, want %s", name, err, want)
	}
}

// A provider that is closed and opened again finds its sessions, and misses
// nothing of what they printed meanwhile, whether they run or have ended.
func TestProviderIsOpenedAgain(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	first := c.opened(t, owner, root)
	if err := first.Start(t.Context(), "runs", marked(owner, "runs", "/bin/sh", "-c", counting)); err != nil {
		t.Fatal(err)
	}
	if err := first.Start(t.Context(), "ends", command(confined, "/bin/sh", "-c", "read line; for i in 1 2 3 4 5; do echo line $i; done; exit 6")); err != nil {
		t.Fatal(err)
	}
	pod := c.podOf(t, owner, "ends")
	if err := first.Nudge(t.Context(), "ends", "go"); err != nil {
		t.Fatal(err)
	}
	shown := lastLine(t, first, "runs")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := c.opened(t, owner, root)
	if running, err := again.IsRunning(t.Context(), "runs"); err != nil || !running {
		t.Errorf("it runs: %v, %v", running, err)
	}
	noSecond(t, again, "runs", fault.Busy)
	text, err := again.Peek(t.Context(), "ends", 0)
	if err != nil || whole(t, text) != 5 {
		t.Errorf("of what ended meanwhile: %q, %v", text, err)
	}
	if e := exitOf(t, again, "ends"); e.Code != 6 {
		t.Errorf("exit %+v", e)
	}
	eventually(t, "the pod of the one that ended ends as it did", func() bool {
		return c.kubectl(t, "", "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}") == "6"
	})
	finished(t, again, root, "runs", shown)
}

// While the API server is away nothing is known, and nothing is lost.
func TestAPIServerRestarts(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	p := c.opened(t, owner, root)
	begun(t, p, "w")
	events, err := p.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := lastLine(t, p, "w")
	g := guarded(p, owner, "w")
	c.part(t, "stop", "apiserver")
	if running, err := p.IsRunning(t.Context(), "w"); err == nil {
		t.Errorf("it runs: %v, and nobody could be asked", running)
	}
	c.part(t, "start", "apiserver")
	known, on := answers(t, p, "w"), goesOn(t, p, "w", shown)
	noSecond(t, p, "w", fault.Busy)
	seen := g.end(t)
	n := finished(t, p, root, "w", shown)
	if e := <-events; e != (provider.Event{Name: "w", Change: provider.Ended}) {
		t.Errorf("told of %v", e)
	}
	figure(t, "%s; known %.1f s and shown %.1f s after it was back; %d lines, none lost", seen, known.Seconds(), (known + on).Seconds(), n)
}

// A container runtime that is restarted takes nothing with it.
func TestContainerdRestarts(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	p := c.opened(t, owner, root)
	begun(t, p, "w")
	shown := lastLine(t, p, "w")
	g := guarded(p, owner, "w")
	c.part(t, "stop", "containerd")
	c.part(t, "start", "containerd")
	on := goesOn(t, p, "w", shown)
	known := answers(t, p, "w")
	seen := g.end(t)
	n := finished(t, p, root, "w", shown)
	figure(t, "%s; shown %.1f s and known %.1f s after it was back; %d lines, none lost", seen, on.Seconds(), (on + known).Seconds(), n)
}

// lostFor is how long the node does not answer: less than after which the cluster
// gives its pods up.
const lostFor = 2 * time.Minute

// Whether a session runs whose node does not answer is not known, and no second
// one is started. When the node is back, so is the session.
func TestNodeLost(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	p := c.opened(t, owner, root)
	begun(t, p, "w", "gone")
	pod := c.podOf(t, owner, "w")
	shown := lastLine(t, p, "w")
	g := guarded(p, owner, "w")
	stopped := time.Now()
	c.part(t, "stop", "kubelet")
	eventually(t, "the node is lost", func() bool {
		_, err := p.IsRunning(t.Context(), "w")
		return fault.KindOf(err) == fault.Unreachable
	})
	noticed := time.Since(stopped)
	if trouble, err := p.Trouble(t.Context(), "w"); err != nil || trouble == nil || trouble.Why != kubernetes.NodeLost {
		t.Errorf("Trouble: %v, %v", trouble, err)
	}
	if all, err := p.Observe(t.Context(), ""); err != nil || len(all) > 0 {
		t.Errorf("Observe: %v, %v", all, err)
	}
	killProgram(t, owner+"/gone") // nobody can know
	tries := 0
	for ; time.Since(stopped) < lostFor; tries++ {
		noSecond(t, p, "w", fault.Unreachable)
		noSecond(t, p, "gone", fault.Unreachable)
		if running, err := p.IsRunning(t.Context(), "gone"); fault.KindOf(err) != fault.Unreachable {
			t.Errorf("gone runs: %v, %v", running, err)
		}
		select {
		case <-time.After(time.Second):
		case <-t.Context().Done():
		}
	}
	c.part(t, "start", "kubelet")
	known, on := answers(t, p, "w"), goesOn(t, p, "w", shown)
	if now := c.podOf(t, owner, "w"); now != pod {
		t.Errorf("it is another pod: %s, not %s", now, pod)
	}
	seen := g.end(t)
	if e := exitOf(t, p, "gone"); e.Code == 0 {
		t.Errorf("the one that was killed meanwhile ended with %+v", e)
	}
	n := finished(t, p, root, "w", shown)
	figure(t, "away for %.0f s, noticed after %.1f s; %s; %d second starts refused; known %.1f s and shown %.1f s after it was back; %d lines, none lost",
		time.Since(stopped).Seconds(), noticed.Seconds(), seen, tries, known.Seconds(), (known + on).Seconds(), n)
}

// A watch that was away for longer than the API server remembers (410) is begun
// anew, and what happened meanwhile is told.
func TestWatchExpires(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	through := newProxy(t, c.kubeconfig)
	p := c.opened(t, owner, root, func(o *kubernetes.Options) { o.Cluster.Kubeconfig = workspace.Path(through.kubeconfig) })
	begun(t, p, "stays", "ends", "deleted")
	events, err := p.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown, shownDeleted := lastLine(t, p, "stays"), lastLine(t, p, "deleted")
	g := guarded(p, owner, "stays")
	version := c.kubectl(t, "", "get", "--raw", "/api/v1/namespaces/default/pods?limit=1")
	_, version, _ = strings.Cut(version, `"resourceVersion":"`)
	version, _, _ = strings.Cut(version, `"`)
	mend := through.cut()
	killProgram(t, owner+"/ends")
	c.kubectl(t, "", "delete", "pod", c.podOf(t, owner, "deleted"), "--grace-period=1")
	for i := range 3 { // history moves on
		c.kubectl(t, "", "annotate", "--overwrite", "pod", c.podOf(t, owner, "stays"), fmt.Sprintf("test/n=%d", i))
	}
	c.part(t, "stop", "apiserver") // with its memory of what changed
	c.part(t, "start", "apiserver")
	if said, err := c.tryKubectl("get", "--raw", "/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=5&resourceVersion="+version); !strings.Contains(said, "too old resource version") {
		t.Fatalf("the API server still remembers version %s: %v: %s", version, err, said)
	}
	mended := time.Now()
	mend()
	left := map[string]bool{"ends": true, "deleted": true}
	for len(left) > 0 {
		e := <-events
		if e.Change != provider.Ended || !left[e.Name] {
			t.Errorf("told of %v", e)
		}
		delete(left, e.Name)
	}
	told := time.Since(mended)
	if e := exitOf(t, p, "ends"); e.Signal != "SIGKILL" || e.Place != "" {
		t.Errorf("the one that was killed: %+v", e)
	}
	if e := exitOf(t, p, "deleted"); !strings.Contains(e.Place, "deleted") {
		t.Errorf("the one whose pod was deleted: %+v", e)
	}
	answers(t, p, "stays")
	seen := g.end(t)
	nothingLost(t, root, p.DenSession("deleted"), shownDeleted)
	n := finished(t, p, root, "stays", shown)
	figure(t, "%s; both ends told %.1f s after the streams were back; %d lines, none lost", seen, told.Seconds(), n)
}

// Who starts a session in a pod that others change, or start in too, wins or
// loses, and never both.
func TestConflicts(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	one, other := c.opened(t, owner, root), c.opened(t, owner, shortDir(t))
	config := marked(owner, "w", "/bin/sh", "-c", counting)
	before := c.conflicts(t)
	const rounds, starters = 3, 6
	for round := range rounds {
		if err := one.Prepare(t.Context(), "w", config, func(string) {}); err != nil {
			t.Fatal(err)
		}
		pod := c.podOf(t, owner, "w")
		changed := make(chan struct{})
		var busy, all sync.WaitGroup
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-changed:
					return
				default:
					if out, err := c.tryKubectl("annotate", "--overwrite", "pod", pod, fmt.Sprintf("test/n=%d-%d", round, i)); err != nil {
						t.Errorf("annotate: %v: %s", err, out)
						return
					}
				}
			}
		})
		var won atomic.Int64
		for i := range starters {
			p := []*kubernetes.Provider{one, other}[i%2]
			all.Go(func() {
				err := p.Start(t.Context(), "w", config)
				if err == nil {
					won.Add(1)
				} else if fault.KindOf(err) != fault.Busy {
					t.Errorf("a start beside others: %v", err)
				}
			})
		}
		all.Wait()
		close(changed)
		busy.Wait()
		if n := len(copies(owner + "/w")); won.Load() != 1 || n != 1 {
			t.Errorf("%d of %d starts won, %d copies run", won.Load(), starters, n)
		}
		if err := one.Stop(t.Context(), "w"); err != nil {
			t.Fatal(err)
		}
	}
	met := c.conflicts(t) - before
	if met == 0 {
		t.Error("no two met: the test proves nothing")
	}
	figure(t, "%d conflicts in %d rounds of %d starts beside other writers; one start won each", met, rounds, starters)
}

// conflicts counts what the API server refused because it had changed.
func (c cluster) conflicts(t *testing.T) int {
	t.Helper()
	sum := 0
	for line := range strings.Lines(c.kubectl(t, "", "get", "--raw", "/metrics")) {
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, `code="409"`) || !strings.Contains(line, `resource="pods"`) {
			continue
		}
		var n float64
		if _, err := fmt.Sscanf(line[strings.LastIndexByte(line, ' ')+1:], "%g", &n); err != nil {
			t.Fatal(err)
		}
		sum += int(n)
	}
	return sum
}

// gateway stands before the API server, and refuses all requests while it is
// closed, as an API server does that has too many.
type gateway struct {
	kubeconfig string // that names it
	closed     atomic.Bool
	refused    atomic.Int64
}

func newGateway(t *testing.T, kubeconfig string) *gateway {
	t.Helper()
	raw, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	word := func(key string) string {
		_, rest, _ := strings.Cut(string(raw), key+": ")
		rest, _, _ = strings.Cut(rest, "}")
		rest, _, _ = strings.Cut(rest, ",")
		return strings.Trim(rest, `"`)
	}
	authority, err := os.ReadFile(word("certificate-authority"))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(word("client-certificate"), word("client-key"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(word("server"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	behind := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}},
		FlushInterval: -1, // watches
	}
	g := &gateway{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.closed.Load() {
			g.refused.Add(1)
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: g, cluster: {server: %q}}]\ncontexts: [{name: g, context: {cluster: g, namespace: default}}]\ncurrent-context: g\n", front.URL)
	if err := os.WriteFile(g.kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return g
}

// An API server that refuses everything for a while (429) is one that cannot be
// asked: it is asked again, and what is open goes on.
func TestThrottled(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	gate := newGateway(t, c.kubeconfig)
	p := c.opened(t, owner, root, func(o *kubernetes.Options) { o.Cluster.Kubeconfig = workspace.Path(gate.kubeconfig) })
	begun(t, p, "w")
	shown := lastLine(t, p, "w")
	g := guarded(p, owner, "w")
	gate.closed.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), askLimit/2)
	if running, err := p.IsRunning(ctx, "w"); err == nil {
		t.Errorf("it runs: %v, and nobody could be asked", running)
	}
	if err := p.Start(ctx, "w", marked(owner, "w", "/bin/cat")); err == nil {
		t.Error("a second start while nobody could be asked")
	}
	cancel()
	on := goesOn(t, p, "w", lastLine(t, p, "w")) // its stream is open
	// Who asks now is answered when there is room.
	waited := make(chan error, 1)
	go func() {
		running, err := p.IsRunning(t.Context(), "w")
		if err == nil && !running {
			err = errors.New("it was said not to run")
		}
		waited <- err
	}()
	before := gate.refused.Load()
	eventually(t, "more is refused", func() bool { return gate.refused.Load() > before+1 })
	gate.closed.Store(false)
	opened := time.Now()
	if err := <-waited; err != nil {
		t.Errorf("who waited: %v", err)
	}
	known := time.Since(opened)
	noSecond(t, p, "w", fault.Busy)
	seen := g.end(t)
	n := finished(t, p, root, "w", shown)
	figure(t, "%d requests refused; %s; lines went on within %.2f s meanwhile; known %.1f s after the end of it; %d lines, none lost", gate.refused.Load(), seen, on.Seconds(), known.Seconds(), n)
}

// as is the cluster seen by another user, as whom the administrator acts.
func (c cluster) as(t *testing.T, user string) cluster {
	t.Helper()
	raw, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := strings.Replace(string(raw), "user: {client-certificate", fmt.Sprintf("user: {as: %q, client-certificate", user), 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.kubeconfig = path
	return c
}

// A node whose disk is full sends its pods away. That is told, no failure of the
// agent, and nothing is lost that was shown. Who is to be started waits for room.
func TestDiskPressure(t *testing.T) {
	c, owner, root := theCluster(t), ownerOf(t), shortDir(t)
	p := c.opened(t, owner, root)
	begun(t, p, "w")
	shown := lastLine(t, p, "w")
	g := guarded(p, owner, "w")
	full := time.Now()
	free := c.fillDisk(t)
	e := exitOf(t, p, "w")
	took := time.Since(full)
	if !strings.Contains(e.Place, string(kubernetes.Evicted)) {
		t.Errorf("exit %+v is not told as an eviction", e)
	}
	seen := g.end(t)
	nothingLost(t, root, p.DenSession("w"), shown)
	eventually(t, "nothing of it runs", func() bool { return len(copies(owner+"/w")) == 0 })
	eventually(t, "the node says that its disk is full", func() bool {
		return strings.Contains(c.kubectl(t, "", "get", "node", "node1", "-o", "jsonpath={.spec.taints[*].key}"), "disk-pressure")
	})
	ctx, cancel := context.WithTimeout(t.Context(), askLimit)
	err := p.Prepare(ctx, "next", command(confined, "/bin/cat"), func(string) {})
	cancel()
	if fault.KindOf(err) != fault.Timeout || !strings.Contains(fmt.Sprint(err), "untolerated taint") {
		t.Errorf("a start on a full node: %v", err)
	}
	free()
	mended := time.Now()
	started(t, p, "next", command(confined, "/bin/cat"))
	figure(t, "evicted %.1f s after the disk was full, %s; the next one started %.1f s after there was room", took.Seconds(), seen, time.Since(mended).Seconds())
}

// fillDisk takes nearly all that is free of the node's disk.
func (c cluster) fillDisk(t *testing.T) (free func()) {
	t.Helper()
	dir := os.Getenv("DEN_TEST_CLUSTER")
	file, err := os.Create(filepath.Join(dir, "disk", "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	free = sync.OnceFunc(func() {
		if err := os.Remove(file.Name()); err != nil {
			t.Error(err)
		}
		// A node whose disk is full removes images that nothing runs from.
		for _, image := range []string{"pause", "box", "den"} {
			if out, err := exec.Command("ctr", "-a", filepath.Join(dir, "c.sock"), "-n", "k8s.io", "images", "import", filepath.Join(dir, image+".tar")).CombinedOutput(); err != nil {
				t.Errorf("import %s: %v: %s", image, err, out)
			}
		}
	})
	t.Cleanup(free)
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(int(file.Fd()), &disk); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Fallocate(int(file.Fd()), 0, 0, int64(disk.Bavail-disk.Blocks/50)*disk.Bsize); err != nil {
		t.Fatal(err)
	}
	return free
}
