package kubernetes_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/workspace"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
	"den/internal/testkit/need"
	"den/internal/testkit/providertest"
)

// The images that scripts/test-kubernetes brings into the cluster.
const (
	boxImage = "localhost/box:1"
	denImage = "localhost/den:1"
)

// cluster is the one that scripts/test-kubernetes has started.
type cluster struct {
	kubeconfig string
	den        string // the binary
}

// den and dend are built once for all tests.
var builtDen = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "den-kubernetes-bin-")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "den"), dentest.Build(dir, "den", "dend")
})

func TestMain(m *testing.M) {
	code := m.Run()
	printFigures()
	if os.Getenv(clusterVariable) != "" { // else it was not built
		if path, err := builtDen(); err == nil {
			os.RemoveAll(filepath.Dir(path)) // Best effort.
		}
	}
	os.Exit(code)
}

const clusterVariable = "DEN_TEST_KUBECONFIG"

func theCluster(t *testing.T) cluster {
	t.Helper()
	config := os.Getenv(clusterVariable)
	if config == "" {
		need.Apart(t, "needs a cluster: 'make test-kubernetes' makes one")
	}
	need.Program(t, "busybox")
	den, err := builtDen()
	if err != nil {
		t.Fatal(err)
	}
	return cluster{kubeconfig: config, den: den}
}

// opened opens the provider with a Home, through a proxy that can be cut.
func (c cluster) opened(t *testing.T, owner, root string, change ...func(*kubernetes.Options)) *kubernetes.Provider {
	t.Helper()
	o := kubernetes.Options{
		Home: home.Home{Path: root, Explicit: true}, Owner: owner, Binary: c.den, Version: "test", Grace: time.Second,
		Cluster: kubernetes.Cluster{Kubeconfig: workspace.Path(c.kubeconfig), DenImage: denImage},
	}
	for _, f := range change {
		f(&o)
	}
	p, err := kubernetes.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "denk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // Best effort.
	return dir
}

// asRoot is a pod that may use files of the machine that the tests run on: its
// node is this machine.
var asRoot = kubernetes.Spec{Image: boxImage, PullPolicy: "Never", User: &kubernetes.User{}, WritableRoot: true}

func share(c *provider.Config, dirs ...string) {
	spec := c.Options.(kubernetes.Spec)
	spec.Volumes = slices.Clone(spec.Volumes)
	for _, dir := range dirs {
		spec.Volumes = append(spec.Volumes, kubernetes.Volume{Path: dir, HostPath: dir})
	}
	c.Options = spec
}

func TestConformance(t *testing.T) {
	c := theCluster(t)
	var mu sync.Mutex
	owners := map[string]string{} // by Home: subtests share the cluster, and not their owners
	ownerOf := func(root string) string {
		mu.Lock()
		defer mu.Unlock()
		if owners[root] == "" {
			owners[root] = "city-" + filepath.Base(root)
		}
		return owners[root]
	}
	homeOf := func(p provider.Provider) string { return p.(*kubernetes.Provider).Home.Path }
	proxies := map[string]*proxy{}
	throughProxy := func(root string) func(*kubernetes.Options) {
		mu.Lock()
		defer mu.Unlock()
		if proxies[root] == nil {
			proxies[root] = newProxy(t, c.kubeconfig)
		}
		config := workspace.Path(proxies[root].kubeconfig)
		return func(o *kubernetes.Options) { o.Cluster.Kubeconfig = config }
	}
	providertest.Run(t, providertest.Harness{
		New: func(t *testing.T) provider.Provider {
			root := shortDir(t)
			return c.opened(t, ownerOf(root), root, throughProxy(root))
		},
		Reopen: func(t *testing.T, p provider.Provider) provider.Provider {
			return c.opened(t, ownerOf(homeOf(p)), homeOf(p), throughProxy(homeOf(p)))
		},
		Owner2: func(t *testing.T, p provider.Provider) provider.Provider {
			return c.opened(t, ownerOf(homeOf(p))+".b", homeOf(p), throughProxy(homeOf(p)))
		},
		Break: func(t *testing.T, p provider.Provider) func() {
			mu.Lock()
			defer mu.Unlock()
			return proxies[homeOf(p)].cut()
		},
		Base:     provider.Config{Options: asRoot},
		Share:    share,
		Detach:   "\x1c\x1c",
		Sessions: 12, // each is a pod
		Patience: 90 * time.Second,
	})
}

// proxy passes connections on to the API server, until it is cut.
type proxy struct {
	kubeconfig string // that names it

	mu    sync.Mutex // guards the fields below
	off   bool
	conns map[net.Conn]struct{}
}

func newProxy(t *testing.T, kubeconfig string) *proxy {
	t.Helper()
	raw, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "https://")
	server, _, _ := strings.Cut(rest, `"`)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // Best effort.
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), server, l.Addr().String(), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &proxy{kubeconfig: path, conns: map[net.Conn]struct{}{}}
	go p.serve(l, server)
	return p
}

func (p *proxy) serve(l net.Listener, server string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go p.pass(in, server)
	}
}

func (p *proxy) pass(in net.Conn, server string) {
	defer in.Close()
	out, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer out.Close()
	p.mu.Lock()
	if p.off {
		p.mu.Unlock()
		return
	}
	p.conns[in], p.conns[out] = struct{}{}, struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, in)
		delete(p.conns, out)
		p.mu.Unlock()
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(out, in)
		out.Close()
	}()
	io.Copy(in, out)
	in.Close()
	<-done
}

// cut ends all connections and refuses new ones, until mend.
func (p *proxy) cut() (mend func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	for c := range p.conns {
		c.Close()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.off = false
	}
}

// drop ends all connections; new ones are let through.
func (p *proxy) drop() { p.cut()() }
