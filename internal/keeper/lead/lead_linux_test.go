package lead_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/testkit/dentest"
	"den/internal/testkit/leasetest"
)

// binDir is where binaries are, once a test has needed them.
var binDir string

// binaries are den and dend, built once.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dend-bin-")
	if err != nil {
		return "", err
	}
	binDir = dir
	return dir, dentest.Build(dir, "den", "dend")
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binDir != "" {
		os.RemoveAll(binDir) // Best effort.
	}
	os.Exit(code)
}

// claim is what the pods of one Deployment share: a volume, a ConfigMap and the
// API server.
type claim struct {
	*testing.T
	api    *leasetest.Server
	bin    string
	dir    string // the volume
	config string // the ConfigMap
	env    []string
}

func newClaim(t *testing.T) *claim {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "denl") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // Best effort.
	c := &claim{T: t, api: leasetest.Start(t), bin: bin, dir: dir, config: t.TempDir()}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	c.write(kubeconfig, c.api.Kubeconfig())
	c.env = append(os.Environ(), "DEN_HOME="+dir+"/home", "DEN_RUN_DIR="+dir+"/run", "HOME="+dir, "XDG_STATE_HOME="+dir+"/xdg", "DEN_SESSION=",
		"KUBECONFIG="+kubeconfig, "DEN_WORKSPACE="+c.file(), "GORACE=atexit_sleep_ms=0")
	return c
}

func (c *claim) file() string { return filepath.Join(c.dir, "workspace", "den.toml") }

func (c *claim) write(path, text string) {
	c.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// agents makes the ConfigMap one of these agents.
func (c *claim) agents(names ...string) {
	c.Helper()
	text := "[workspace]\nname = \"w\"\n"
	for _, name := range names {
		text += "[[agents]]\nname = \"" + name + "\"\nstart_command = [\"cat\"]\n"
	}
	c.write(filepath.Join(c.config, "den.toml"), text)
}

// keeperPod is one pod of the Deployment.
type keeperPod struct {
	*exec.Cmd
	lines chan string // what it logs
	ended chan error
}

func (c *claim) pod(name string) *keeperPod {
	c.Helper()
	p := &keeperPod{Cmd: exec.Command(filepath.Join(c.bin, "dend"), "-f", c.file(), "--from", c.config), lines: make(chan string, 1000), ended: make(chan error, 1)}
	p.Env = append(c.env, "DEN_POD="+name, keeper.LeaseMark+"="+leasetest.Name)
	errs, err := p.StderrPipe()
	if err != nil {
		c.Fatal(err)
	}
	if err := p.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(errs); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
		p.ended <- p.Wait()
	}()
	c.Cleanup(func() {
		_ = p.Process.Kill() // Best effort: it has ended, or should have.
		for range p.lines {
		}
	})
	return p
}

// says waits for a line of its log.
func (c *claim) says(p *keeperPod, text string) {
	c.Helper()
	var all []string
	for line := range p.lines {
		if strings.Contains(line, text) {
			return
		}
		all = append(all, line)
	}
	c.Fatalf("%q is not in its log:\n%s", text, strings.Join(all, "\n"))
}

// command is den with args, in a pod of the Deployment.
func (c *claim) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, "den"), args...)
	cmd.Env = append(c.env, keeper.LeaseMark+"="+leasetest.Name)
	cmd.Dir = c.dir
	return cmd
}

// den runs it to its end.
func (c *claim) den(args ...string) (string, int) {
	c.Helper()
	cmd := c.command(args...)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		c.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// sessions are the ids of the running agents' sessions, by name, once all of them
// run and a keeper knows it.
func (c *claim) sessions(n int) map[string]string {
	c.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var ps keeper.Ps
		raw, code := c.den("ps", "-j")
		if code == 0 && json.Unmarshal([]byte(raw), &ps) == nil && len(ps.Agents) == n && running(ps) {
			break
		}
		if time.Now().After(end) {
			c.Fatalf("not %d agents: %s", n, raw)
		}
	}
	var list struct {
		Sessions []struct{ ID, Session, Status string }
	}
	raw, code := c.den("ls", "-j")
	if err := json.Unmarshal([]byte(raw), &list); err != nil || code != 0 {
		c.Fatalf("ls: %d, %v: %s", code, err, raw)
	}
	ids := map[string]string{}
	for _, s := range list.Sessions {
		if s.Status == "running" {
			ids[s.Session] = s.ID
		}
	}
	return ids
}

func running(ps keeper.Ps) bool {
	for _, a := range ps.Agents {
		if a.Actual != "running" {
			return false
		}
	}
	return true
}

// Of two pods one keeps the workspace. One that loses the lease, also while it was
// frozen, ends at once and leaves its agents to the next, which finds them; one
// that is told to end lets go of the lease.
func TestLeader(t *testing.T) {
	t.Parallel()
	c := newClaim(t)
	c.agents("a")
	up := c.command("up", "--wait") // it starts no keeper: the cluster does, and that one brings the file
	var why strings.Builder
	up.Stderr = &why
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	first := c.pod("den-a")
	c.says(first, "den-a holds the lease")
	t.Cleanup(func() { // without a keeper
		cmd := exec.Command(filepath.Join(c.bin, "den"), "down")
		cmd.Env = c.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("clean up: %v: %s", err, out)
		}
	})
	if err := up.Wait(); err != nil {
		t.Fatalf("up: %v: %s", err, why.String())
	}
	before := c.sessions(1)
	second := c.pod("den-b")
	c.says(second, "den-b waits for lease")

	c.agents("a", "b") // the file is followed
	both := c.sessions(2)
	for name, id := range before {
		if both[name] != id {
			t.Errorf("session %s is %s, and was %s", name, both[name], id)
		}
	}
	if out, code := c.den("down"); code != 10 {
		t.Errorf("down: %d: %s", code, out)
	}

	// The first is frozen, and knows nothing. The next one does not act beside it.
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.api.Take("somebody", 1)
	c.says(second, "den-b holds the lease")
	c.says(second, "this one waits for its end")
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.says(first, "this keeper ends, its agents run on")
	if err := <-first.ended; first.ProcessState.ExitCode() == 0 {
		t.Errorf("it lost the lease and ended with %v", err)
	}
	after := c.sessions(2)
	for name, id := range both {
		if after[name] != id {
			t.Errorf("session %s is %s, and was %s", name, after[name], id)
		}
	}

	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range second.lines {
	}
	if err := <-second.ended; err != nil {
		t.Errorf("told to end it ended with %v", err)
	}
	if h := *c.api.Lease().Spec.HolderIdentity; h != "" {
		t.Errorf("%q still holds the lease", h)
	}
	var identity keeper.Identity
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(c.file()), ".den", "workspace.json"))
	if err == nil {
		err = json.Unmarshal(raw, &identity)
	}
	if want := keeper.DerivedID("lease", leasetest.Namespace, leasetest.Name); err != nil || identity.ID != want {
		t.Errorf("the workspace is %s, %v, want %s: a keeper without its volume would not find its agents", identity.ID, err, want)
	}
}
