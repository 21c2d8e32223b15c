package lead_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/keeper"
	"den/internal/process/pty"
)

// patience is how long a cluster on a busy machine may take.
const patience = 5 * time.Minute

// inCluster is a keeper that was deployed into the cluster of
// scripts/test-kubernetes.
type inCluster struct {
	*testing.T
	kubeconfig string
	namespace  string
	bin        string
	laptops    string // the kubeconfig of a person elsewhere
	way        *proxy // to the API server, from there
}

const clusterWorkspace = `[workspace]
name = "team"
[session.kubernetes]
image = "localhost/box:1"
den_image = "localhost/den:1"
[[agents]]
name = "shell"
start_command = "sh"
session_provider = "kubernetes"
[agents.pool]
min = 10
max = 10
[agents.kubernetes]
pull_policy = "Never"
`

// clusterOverlay is what this cluster needs besides deploy/base: its images are
// not to be pulled, it has no storage class, and its API server listens on an
// address of the node only.
const clusterOverlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: NAMESPACE
resources: [BASE, volume.yaml, person.yaml]
images: [{name: den, newName: localhost/den, newTag: "1"}]
configMapGenerator: [{name: den, behavior: replace, files: [den.toml]}]
generatorOptions: {disableNameSuffixHash: true}
patches:
- patch: |
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: den}
    spec: {storageClassName: "", volumeName: NAMESPACE}
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: den}
    spec:
      template:
        spec:
          hostNetwork: true
          containers:
          - name: keeper
            imagePullPolicy: Never
            env: [{name: KUBERNETES_SERVICE_HOST, value: 127.0.0.1}, {name: KUBERNETES_SERVICE_PORT, value: "6443"}]
`

// clusterPerson binds what a person needs for 'den --context' to one.
const clusterPerson = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: person}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: den-user}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: person}]
`

const clusterVolume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: NAMESPACE}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  hostPath: {path: STATE}
`

func deploy(t *testing.T, namespace string) *inCluster {
	t.Helper()
	config := os.Getenv("DEN_TEST_KUBECONFIG")
	if config == "" {
		need.Apart(t, "needs a cluster: 'make test-kubernetes' makes one")
	}
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	c := &inCluster{T: t, kubeconfig: config, namespace: namespace, bin: bin}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	state, err := os.MkdirTemp("", "den-state-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) }) // Best effort.
	if err := os.Chown(state, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Rel(dir, filepath.Join(here, "..", "..", "deploy", "base"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("NAMESPACE", namespace, "BASE", base, "STATE", state)
	for name, text := range map[string]string{"kustomization.yaml": clusterOverlay, "volume.yaml": clusterVolume, "person.yaml": clusterPerson, "den.toml": clusterWorkspace} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(words.Replace(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.person()
	c.kubectl("create", "namespace", namespace)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the keeper's log:\n%s", c.kubectl("logs", "--all-containers", "--tail=50", "-l", "app.kubernetes.io/name=den"))
			t.Logf("pods:\n%s", c.kubectl("get", "pods"))
		}
		c.kubectl("delete", "deployment", "den", "--wait=true")
		c.kubectl("delete", "pods", "--all", "--grace-period=1", "--wait=true")
	})
	c.kubectl("apply", "-k", dir)
	return c
}

// person makes the configuration of a person elsewhere, who has no more rights
// than the Role says, and a way to the API server that can be cut.
func (c *inCluster) person() {
	c.Helper()
	raw, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		c.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "https://")
	server, _, _ := strings.Cut(rest, `"`)
	c.way = newProxy(c.T, server)
	text := strings.Replace(string(raw), server, c.way.Addr().String(), 1)
	text = strings.Replace(text, "user: {client-certificate", "user: {as: person, client-certificate", 1)
	c.laptops = filepath.Join(c.TempDir(), "kubeconfig")
	if err := os.WriteFile(c.laptops, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// proxy passes connections on, until they are cut.
type proxy struct {
	net.Listener
	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l}
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			go func() { io.Copy(out, in); out.Close() }()
			go func() { io.Copy(in, out); in.Close() }()
		}
	}()
	return p
}

// cut ends all connections; new ones are let through.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

func (c *inCluster) kubectl(args ...string) string {
	c.Helper()
	out, err := exec.Command("kubectl", append([]string{"--kubeconfig", c.kubeconfig, "-n", c.namespace}, args...)...).CombinedOutput()
	if err != nil {
		c.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return string(out)
}

// laptop is den on a machine that knows nothing but the API server.
func (c *inCluster) laptop(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, "den"), append([]string{"--kubeconfig", c.laptops, "--context", "den", "--namespace", c.namespace}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "DEN_") })
	cmd.Env = append(cmd.Env, "HOME="+c.TempDir(), "TERM=xterm-256color")
	return cmd
}

// try runs den on the laptop.
func (c *inCluster) try(args ...string) (stdout, stderr string, code int) {
	c.Helper()
	cmd := c.laptop(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		c.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (c *inCluster) do(args ...string) string {
	c.Helper()
	out, errs, code := c.try(args...)
	if code != 0 {
		c.Fatalf("den %q: status %d: %s", args, code, errs)
	}
	return out
}

// agents waits until ten agents run under a keeper, and returns them.
func (c *inCluster) agents() []keeper.AgentStatus {
	c.Helper()
	said := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		out, errs, code := c.try("ps", "-j")
		said = out + errs
		var ps keeper.Ps
		if code == 0 && json.Unmarshal([]byte(out), &ps) == nil && len(ps.Agents) == 10 && running(ps) {
			return ps.Agents
		}
	}
	c.Fatalf("no ten agents: %s", said)
	return nil
}

// pods are the agents' pods.
func (c *inCluster) pods() []string {
	c.Helper()
	uids := strings.Fields(c.kubectl("get", "pods", "-l", "app.kubernetes.io/managed-by=den", "-o", "jsonpath={.items[*].metadata.uid}"))
	slices.Sort(uids)
	return uids
}

// A keeper is deployed with exactly its Role; from elsewhere, through the API
// server alone, its agents are listed, talked to and attached to; and a keeper
// whose pod is deleted, or that is frozen, is followed by one that finds all of
// them.
func TestClusterKeeper(t *testing.T) {
	c := deploy(t, "keeper")
	begun := time.Now()
	agents := c.agents()
	t.Logf("ten agents run %v after they were applied", time.Since(begun).Round(time.Second))
	if n := len(c.pods()); n != 10 {
		t.Errorf("%d pods", n)
	}
	c.do("agent", "nudge", "shell-3", "echo said-$((40 + 2))")
	session := agents[slices.IndexFunc(agents, func(a keeper.AgentStatus) bool { return a.Name == "shell-3" })].DenSession
	c.do("wait", session, "--text", "said-42", "--timeout", "1m")
	if text := c.do("agent", "peek", "shell-3"); !strings.Contains(text, "said-42") {
		t.Errorf("it shows:\n%s", text)
	}
	if _, errs, code := c.try("status", "nobody"); code != 3 || !strings.Contains(errs, "nobody") {
		t.Errorf("a session that is not there: status %d: %s", code, errs)
	}
	c.attaches(session)

	before := c.pods()
	c.kubectl("delete", "pods", "-l", "app.kubernetes.io/name=den", "--grace-period=0", "--force")
	deleted := time.Now()
	c.agents()
	t.Logf("a keeper was back %v after the pod of one was deleted", time.Since(deleted).Round(time.Second))
	if after := c.pods(); !slices.Equal(before, after) {
		t.Errorf("the agents' pods were %v, and are %v", before, after)
	}
	c.freezes()
	if after := c.pods(); !slices.Equal(before, after) {
		t.Errorf("the agents' pods were %v, and after a keeper was frozen are %v", before, after)
	}
	if text := c.do("snapshot", session); !strings.Contains(text, "said-42") {
		t.Errorf("after the keeper's restart it shows:\n%s", text)
	}
}

// freezes stops the keeper's process until another pod holds the lease, and lets
// it go on. All agents have one keeper then.
func (c *inCluster) freezes() {
	c.Helper()
	c.kubectl("scale", "deployment", "den", "--replicas=2")
	c.kubectl("rollout", "status", "deployment", "den", "--timeout=2m")
	holder := func() string {
		c.Helper()
		return c.kubectl("get", "lease", "den", "-o", "jsonpath={.spec.holderIdentity}")
	}
	first := holder()
	process := keepersProcess(c.T, first)
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		c.Fatal(err)
	}
	defer process.Signal(syscall.SIGCONT) // Best effort: it may have ended.
	frozen := time.Now()
	for holder() == first {
		if time.Since(frozen) > patience {
			c.Fatalf("%s still holds the lease", first)
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.Logf("another pod held the lease %v after the keeper was frozen", time.Since(frozen).Round(time.Second))
	if err := process.Signal(syscall.SIGCONT); err != nil {
		c.Fatal(err)
	}
	c.agents()
}

// keepersProcess finds the keeper of a pod: the node is this machine.
func keepersProcess(t *testing.T, pod string) *os.Process {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // Best effort: it may have ended.
		argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if !bytes.HasPrefix(argv, []byte("/dend\x00-f\x00")) || !bytes.Contains(env, []byte("DEN_POD="+pod+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		return process
	}
	t.Fatalf("no keeper of pod %s runs here", pod)
	return nil
}

// attaches types into a session from a terminal of the laptop, also after the
// stream broke, and detaches.
func (c *inCluster) attaches(session string) {
	c.Helper()
	t, err := pty.Open(pty.Size{Cols: 90, Rows: 20})
	if err != nil {
		c.Fatal(err)
	}
	defer t.Close() // Best effort: nobody uses it.
	cmd := c.laptop("attach", session)
	pid, err := t.Start(pty.Command{Argv: cmd.Args, Env: cmd.Env})
	if err != nil {
		c.Fatal(err)
	}
	sees := func(text string) {
		c.Helper()
		seen, buf := "", make([]byte, 4096)
		if err := t.SetReadDeadline(time.Now().Add(patience)); err != nil {
			c.Fatal(err)
		}
		for !strings.Contains(seen, text) {
			n, err := t.Take(buf)
			if err != nil {
				c.Fatalf("%q is not on the terminal: %v: %q", text, err, seen)
			}
			t.Handled()
			seen += string(buf[:n])
		}
	}
	types := func(text string) {
		c.Helper()
		if _, err := t.Write([]byte(text)); err != nil {
			c.Fatal(err)
		}
	}
	sees("said-42")
	types("echo typed-$((6 * 7))\r")
	sees("typed-42")
	c.way.cut()
	sees("typed-42") // painted anew
	types("echo again-$((6 * 7))\r")
	sees("again-42")
	types("\x1c\x1c")
	sees("detached")
	process, err := os.FindProcess(pid)
	if err != nil {
		c.Fatal(err)
	}
	if state, err := process.Wait(); err != nil || state.ExitCode() != 0 {
		c.Errorf("attach ended with %v, %v", state, err)
	}
}
