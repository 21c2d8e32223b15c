package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/workspace"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// patience is how long a cluster on a busy machine may take.
const patience = 2 * time.Minute

// kubectl runs it as the cluster's administrator.
func (c cluster) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("kubectl", append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return string(out)
}

// tryKubectl is kubectl for what may fail.
func (c cluster) tryKubectl(args ...string) (string, error) {
	out, err := exec.Command("kubectl", append([]string{"--kubeconfig", c.kubeconfig}, args...)...).CombinedOutput()
	return string(out), err
}

// part stops or starts a part of the cluster.
func (c cluster) part(t *testing.T, verb, part string) {
	t.Helper()
	cmd := exec.Command("sh", "../../../../scripts/cluster", verb, os.Getenv("DEN_TEST_CLUSTER"), part)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", verb, part, err, out)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// ownerOf is an owner that no other test has.
func ownerOf(t *testing.T) string { return strings.ToLower(t.Name()) }

// confined is a pod as the workspace file makes it without more words.
var confined = kubernetes.Spec{Image: boxImage, PullPolicy: "Never"}

func command(spec kubernetes.Spec, argv ...string) provider.Config {
	return provider.Config{Argv: argv, WorkDir: "/work", Options: spec}
}

func started(t *testing.T, p *kubernetes.Provider, name string, c provider.Config) {
	t.Helper()
	if err := p.Start(t.Context(), name, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, p, name) })
}

func stopped(t *testing.T, p *kubernetes.Provider, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Stop(ctx, name); err != nil {
		t.Errorf("clean up: %v", err)
	}
}

// shows waits until a session's text has a line, and returns the text.
func shows(t *testing.T, p *kubernetes.Provider, name, line string) string {
	t.Helper()
	var text string
	eventually(t, name+" shows "+line, func() bool {
		var err error
		if text, err = p.Peek(t.Context(), name, 0); err != nil {
			return false
		}
		return strings.Contains("\n"+text+"\n", "\n"+line+"\n")
	})
	return text
}

func exitOf(t *testing.T, p *kubernetes.Provider, name string) provider.Exit {
	t.Helper()
	var e *provider.Exit
	eventually(t, name+" ends", func() bool {
		var err error
		e, err = p.Exit(t.Context(), name)
		return err == nil && e != nil
	})
	return *e
}

// A pod is confined unless the file says otherwise, and its program can work
// all the same.
func TestConfinedPod(t *testing.T) {
	c := theCluster(t)
	p := c.opened(t, ownerOf(t), shortDir(t))
	script := `echo "user $(id -u)"
touch /new 2>/dev/null && echo "the root can be written to"
for d in "$HOME" /tmp .; do touch "$d/file" && echo "can write: $d"; done
grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo "has capabilities"
grep '^NoNewPrivs:' /proc/self/status | tr '\t' ' '
grep '^Seccomp:' /proc/self/status | tr '\t' ' '
ls /var/run/secrets/kubernetes.io 2>/dev/null && echo "has a token"
echo end; exec cat`
	started(t, p, "w", command(confined, "/bin/sh", "-c", script))
	text := shows(t, p, "w", "end")
	for _, want := range []string{"user 1000", "can write: /home/agent", "can write: /tmp", "can write: .", "NoNewPrivs: 1", "Seccomp: 2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	for _, bad := range []string{"the root can be", "has capabilities", "has a token"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q in:\n%s", bad, text)
		}
	}
}

// Where den's image cannot be pulled, den is copied in.
func TestDenIsCopiedIn(t *testing.T) {
	c := theCluster(t)
	p := c.opened(t, ownerOf(t), shortDir(t), func(o *kubernetes.Options) { o.Cluster.DenImage = "" })
	started(t, p, "w", command(confined, "/bin/sh", "-c", "echo hello; exec cat"))
	shows(t, p, "w", "hello")
}

// The Role of deploy/base is enough for all that the provider does.
func TestRole(t *testing.T) {
	c := theCluster(t)
	c.kubectl(t, "", "apply", "-k", "../../../../deploy/base")
	c = c.as(t, "system:serviceaccount:default:den")
	p := c.opened(t, ownerOf(t), shortDir(t))
	ctx := t.Context()
	config := command(confined, "/bin/sh", "-c", "echo hello; read line; exit 4")
	events, err := p.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Prepare(ctx, "w", config, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Exec(ctx, "w", config, provider.ExecSpec{Argv: []string{"/bin/true"}}); code != 0 || err != nil {
		t.Errorf("Exec: %d, %v", code, err)
	}
	started(t, p, "w", config)
	shows(t, p, "w", "hello")
	if trouble, err := p.Trouble(ctx, "w"); trouble != nil || err != nil {
		t.Errorf("Trouble: %v, %v", trouble, err)
	}
	if err := errors.Join(p.SetMeta(ctx, "w", "k", "v"), p.Nudge(ctx, "w", "x")); err != nil {
		t.Error(err)
	}
	if e := exitOf(t, p, "w"); e.Code != 4 {
		t.Errorf("exit %+v", e)
	}
	for _, want := range []provider.Change{provider.Started, provider.Ended} {
		if got := <-events; got.Change != want {
			t.Errorf("told of %v, want %s", got, want)
		}
	}
	if out := exec.Command("kubectl", "--kubeconfig", c.kubeconfig, "get", "secrets"); out.Run() == nil {
		t.Error("the account may read secrets: the test proves nothing")
	}
}

// Each trouble is told as what it is.
func TestTroubles(t *testing.T) {
	c, owner := theCluster(t), ownerOf(t)
	p := c.opened(t, owner, shortDir(t))
	prepare := func(t *testing.T, name string, change func(*kubernetes.Spec), limit time.Duration) error {
		t.Helper()
		spec := confined
		change(&spec)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		err := p.Prepare(ctx, name, command(spec, "/bin/cat"), func(string) {})
		t.Cleanup(func() {
			if err := p.Stop(context.Background(), name); err != nil {
				t.Errorf("clean up: %v", err)
			}
		})
		if running, rerr := p.IsRunning(t.Context(), name); running || rerr != nil {
			t.Errorf("it runs: %v, %v", running, rerr)
		}
		return err
	}
	t.Run("image missing", func(t *testing.T) {
		err := prepare(t, "image", func(s *kubernetes.Spec) { s.Image = "localhost/none:1" }, patience)
		var trouble *kubernetes.TroubleError
		if !errors.As(err, &trouble) || trouble.Trouble.Why != kubernetes.ImageMissing || trouble.Trouble.Crash() {
			t.Errorf("%v", err)
		}
	})
	t.Run("unschedulable", func(t *testing.T) {
		err := prepare(t, "room", func(s *kubernetes.Spec) { s.CPU = "1000" }, 5*time.Second)
		if fault.KindOf(err) != fault.Timeout || !strings.Contains(fmt.Sprint(err), "Insufficient cpu") {
			t.Errorf("%v", err)
		}
	})
	t.Run("quota", func(t *testing.T) {
		root := shortDir(t)
		tight := filepath.Base(root)
		c.kubectl(t, "", "create", "namespace", tight)
		c.kubectl(t, "", "create", "quota", "none", "--hard=pods=0", "-n", tight)
		p := c.opened(t, ownerOf(t), root, func(o *kubernetes.Options) { o.Cluster.Namespace = tight })
		var err error
		eventually(t, "the quota is enforced", func() bool {
			err = p.Start(t.Context(), "w", command(confined, "/bin/cat"))
			if err == nil {
				p.Stop(t.Context(), "w")
			}
			return err != nil && fault.KindOf(err) != fault.Denied
		})
		if !strings.Contains(err.Error(), string(kubernetes.QuotaExceeded)) {
			t.Errorf("%v", err)
		}
	})
	t.Run("evicted", func(t *testing.T) {
		started(t, p, "evicted", command(confined, "/bin/sh", "-c", "echo hello; exec cat"))
		shows(t, p, "evicted", "hello")
		pod := c.podOf(t, owner, "evicted")
		events, err := p.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":"default"}}`, pod)
		c.kubectl(t, body, "create", "--raw", "/api/v1/namespaces/default/pods/"+pod+"/eviction", "-f", "-")
		for e := range events {
			if e.Name == "evicted" && e.Change == provider.Ended {
				break
			}
		}
		if e := exitOf(t, p, "evicted"); !strings.Contains(e.Place, "vict") {
			t.Errorf("exit %+v is not told as an eviction", e)
		}
		if text, err := p.Peek(t.Context(), "evicted", 0); err != nil || !strings.Contains(text, "hello") {
			t.Errorf("the past of an evicted pod: %q, %v", text, err)
		}
	})
	t.Run("out of memory", func(t *testing.T) {
		spec := confined
		spec.MemoryLimit = "64Mi"
		started(t, p, "oom", command(spec, "/bin/sh", "-c", "exec tail /dev/zero"))
		if e := exitOf(t, p, "oom"); e.Code != 137 {
			t.Errorf("exit %+v", e)
		}
	})
}

// podOf is the name of a session's pod.
func (c cluster) podOf(t *testing.T, owner, name string) string {
	t.Helper()
	out := c.kubectl(t, "", "get", "pods", "-A", "-l", "app.kubernetes.io/managed-by=den",
		"-o", `jsonpath={range .items[*]}{.metadata.annotations.den/owner}{" "}{.metadata.annotations.den/session}{" "}{.metadata.name}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == owner && f[1] == name {
			return f[2]
		}
	}
	t.Fatalf("session %s of %s has no pod: %s", name, owner, out)
	return ""
}

// counting prints numbered lines until it is nudged.
const counting = `trap 'exit 0' TERM
i=0
( read line; kill -TERM $$ ) < /dev/tty &
while :; do i=$((i+1)); echo "line $i"; sleep 0.05; done`

// logOf returns the lines of a session's log in the Home, without doubt about
// order: events are numbered.
func logOf(t *testing.T, root, ref string) string {
	t.Helper()
	s, err := session.Open(home.Home{Path: root, Explicit: true}, ref, session.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	shot, err := s.Snapshot(t.Context(), session.Now(), session.All)
	if err != nil {
		t.Fatal(err)
	}
	return shot.Screen.PlainText()
}

// whole checks that lines are numbered without a gap, and returns how many.
func whole(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(text) {
		var i int
		if _, err := fmt.Sscanf(line, "line %d", &i); err != nil {
			continue
		}
		if n > 0 && i != n+1 {
			t.Errorf("line %d follows line %d", i, n)
		}
		n = i
	}
	return n
}

// A log is copied whole however often streams are cut, and people who look on see
// a pause and not an end.
func TestStreamsResume(t *testing.T) {
	c := theCluster(t)
	through := newProxy(t, c.kubeconfig)
	root := shortDir(t)
	p := c.opened(t, ownerOf(t), root, func(o *kubernetes.Options) { o.Cluster.Kubeconfig = workspace.Path(through.kubeconfig) })
	started(t, p, "w", command(confined, "/bin/sh", "-c", counting))
	ref := p.DenSession("w")
	s, err := session.Open(home.Home{Path: root, Explicit: true}, ref, session.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var frames atomic.Int64
	attached := s.Attach(wire.Attach{Cols: 120, Rows: 40})
	left := make(chan error, 1)
	go func() {
		_, err := attached.Run(t.Context(), func(wire.Frame) { frames.Add(1) })
		left <- err
	}()
	before := 0
	for range 5 {
		eventually(t, "the log grows", func() bool {
			text := logOf(t, root, ref)
			if n := strings.Count(text, "line "); n > before+20 {
				before = n
				return true
			}
			return false
		})
		through.drop()
		shown := frames.Load()
		eventually(t, "who looks on sees more", func() bool { return frames.Load() > shown+5 })
	}
	if err := p.Nudge(t.Context(), "w", "stop"); err != nil {
		t.Fatal(err)
	}
	if e := exitOf(t, p, "w"); e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
	select {
	case err := <-left:
		if err != nil {
			t.Errorf("Attach: %v", err)
		}
	case <-time.After(patience):
		t.Error("Attach does not return when the session ends")
	}
	if n := whole(t, logOf(t, root, ref)); n < before {
		t.Errorf("%d lines in the log, %d were shown", n, before)
	}
}
