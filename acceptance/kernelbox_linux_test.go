package acceptance

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/filelock"
	"den/internal/testkit/need"
	"den/internal/testkit/podmantest"

	"github.com/moby/moby/client"
	"github.com/rogpeppe/go-internal/txtar"
)

// kernelBox is the example with a container, and den as it is installed.
type kernelBox struct {
	*world
	engine *podmantest.Engine
	data   string
}

func newKernelBox(t *testing.T) *kernelBox {
	t.Helper()
	b := newKernelPodman(t)
	b.do("kernel", "init", "demo", "--example")
	return b
}

// newKernelPodman is podman, and no instance yet.
func newKernelPodman(t *testing.T) *kernelBox {
	t.Helper()
	e := podmantest.Own(t)
	w := newWorld(t)
	w.den = staticDen(t)
	dir := t.TempDir()
	w.env = append(w.env, "CONTAINER_HOST=unix://"+e.Socket, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "XDG_DATA_HOME="+filepath.Join(dir, "data"))
	return &kernelBox{world: w, engine: e, data: filepath.Join(dir, "data/den/kernel/demo")}
}

// put writes a file of the repository.
func (b *kernelBox) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.data, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *kernelBox) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.data, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// container is what status says of it, nil if there is none.
func (b *kernelBox) container() map[string]any {
	b.t.Helper()
	c, _ := b.ask("kernel", "status", "demo")["container"].(map[string]any)
	return c
}

// left counts the containers and images that den made.
func (b *kernelBox) left() (containers, images int) {
	b.t.Helper()
	all := client.Filters{}.Add("label", "den.owner=kernel")
	list, err := b.engine.API.ContainerList(b.t.Context(), client.ContainerListOptions{All: true, Filters: all})
	if err != nil {
		b.t.Fatal(err)
	}
	made, err := b.engine.API.ImageList(b.t.Context(), client.ImageListOptions{Filters: all})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(list.Items), len(made.Items)
}

// The example's ticks run on this machine until its repository has a
// Containerfile: then its terminals and hooks are in a container of podman.
// What goes wrong is told, and 'den kernel remove' leaves nothing. make
// test-podman runs it.
func TestKernelInAContainer(t *testing.T) {
	need.Target(t, "DEN_TEST_PODMAN", "make test-podman")
	b := newKernelBox(t)
	b.do("kernel", "tick", "demo")
	if c := b.container(); c != nil {
		t.Errorf("the example has a container: %v", c)
	}
	b.put("system/agent_config.json", `{"runner": "script", "command": ["system/mind"], "container": {"engine": "podman", "network": "none"}}`)
	if _, said, code := b.try("kernel", "tick", "demo"); code != 2 || !strings.Contains(said, "there is no system/container/Containerfile") {
		t.Errorf("without a Containerfile: exit %d: %s", code, said)
	}
	b.put("system/container/Containerfile", "FROM "+podmantest.BaseImage+"\nCOPY word /inside\n")
	b.put("system/container/word", "the box\n")
	b.put("system/hooks/post-tick/10-where", "#!/bin/sh\ncat /inside >\"$DATA_DIR/notes/where\"\n")

	began := time.Now()
	out := b.do("kernel", "tick", "demo", "-j")
	t.Logf("a tick with a build took %s", time.Since(began).Round(time.Millisecond))
	if !strings.Contains(out, `"tick":2,"status":"normal"`) || !strings.Contains(out, "I have written it down.") {
		t.Error(out)
	}
	if got := b.read("notes/where"); got != "the box\n" {
		t.Errorf("the hook was in %q", got)
	}
	if !strings.Contains(b.read("notes/journal.md"), "- tick 2: looked at the clock") {
		t.Errorf("what was typed in the container: %s", b.read("notes/journal.md"))
	}
	if c := b.container(); c["state"] != "running" {
		t.Errorf("status: %v", c)
	}
	since := b.container()["since"]
	began = time.Now()
	b.do("kernel", "tick", "demo")
	t.Logf("a tick in the container took %s", time.Since(began).Round(time.Millisecond))
	if now := b.container()["since"]; now != since {
		t.Errorf("nothing has changed, and the container is of %v, not of %v", now, since)
	}

	// dend is killed in the middle of a tick.
	script := b.read("system/mind")
	b.put("system/mind", "#!/bin/sh\ncat >/dev/null\nden kernel tool login\n: >sandbox/ready\nsleep 1000\n")
	ended := make(chan int, 1) // room for the one
	go func() {
		_, _, code := b.try("kernel", "tick", "demo")
		ended <- code
	}()
	awaitFile(t, filepath.Join(b.data, "sandbox/ready"))
	lock := b.tickLock()
	for _, pid := range openedBy(t, lock) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	<-ended
	released, err := filelock.Released(t.Context(), lock, 0)
	if err != nil {
		t.Fatal(err)
	}
	<-released
	if s := b.do("kernel", "status", "demo"); !strings.HasPrefix(s, "demo: cut off") || !strings.Contains(s, "container running") {
		t.Errorf("after the kill: %s", s)
	}
	b.put("system/mind", script)
	if out := b.do("kernel", "tick", "demo"); !strings.HasPrefix(out, "tick 5: normal") {
		t.Errorf("the next tick: %s", out)
	}
	if logs := b.do("kernel", "logs", "demo"); !strings.Contains(logs, "completing a tick that was cut off") || b.container()["since"] != since {
		t.Errorf("the container is of %v, not of %v; the log:\n%s", b.container()["since"], since, logs)
	}

	// The engine is away.
	with := b.env
	b.env = append(b.env, "CONTAINER_HOST=unix:///nowhere.sock")
	if out, _, code := b.try("kernel", "tick", "demo"); code != 1 || !strings.HasPrefix(out, "tick 6: unprepared: ") {
		t.Errorf("without an engine: exit %d: %s", code, out)
	}
	if s := b.do("kernel", "status", "demo"); !strings.Contains(s, "last tick 6, unprepared: ") {
		t.Errorf("without an engine: %s", s)
	}
	if _, said, code := b.try("kernel", "remove", "demo"); code != 1 || !strings.Contains(said, "end the container of 'demo'") {
		t.Errorf("without an engine: remove: exit %d: %s", code, said)
	}
	b.env = with

	// It moves out, back in, and is forgotten.
	config := b.read("system/agent_config.json")
	b.put("system/agent_config.json", `{"runner": "script", "command": ["system/mind"], "container": "none"}`)
	b.do("kernel", "tick", "demo")
	if containers, images := b.left(); containers != 0 || images != 0 || b.container() != nil {
		t.Errorf("it lives on this machine, and %d containers and %d images are left; status: %v", containers, images, b.container())
	}
	b.put("system/agent_config.json", config)
	b.do("kernel", "tick", "demo")
	b.do("kernel", "remove", "demo")
	if containers, images := b.left(); containers != 0 || images != 0 {
		t.Errorf("%d containers and %d images are left", containers, images)
	}
}

// A data repository of agent-kernel with a Containerfile lives in a container as
// it is, and its commits go to the remote that it had when it was registered.
// make test-podman runs it.
func TestKernelInAContainerOfOthers(t *testing.T) {
	need.Target(t, "DEN_TEST_PODMAN", "make test-podman")
	need.Program(t, "git")
	b := newKernelPodman(t)
	dir := t.TempDir()
	b.data = filepath.Join(dir, "data")
	archive, err := txtar.ParseFile("testdata/kernel-foreign.txtar")
	if err == nil {
		err = txtar.Write(archive, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if strings.HasPrefix(string(f.Data), "#!") {
			if err := os.Chmod(filepath.Join(dir, f.Name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.put("system/container/Containerfile", "FROM "+podmantest.BaseImage+"\n")
	remote := filepath.Join(dir, "remote.git")
	ssh := filepath.Join(dir, "bin/ssh") // as far as git knows, to another machine
	if err := os.WriteFile(ssh, []byte("#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.env = append(b.env, "WORK="+dir, "PATH="+filepath.Join(dir, "bin")+":"+variable(b.env, "PATH"), "GIT_SSH_COMMAND="+ssh)
	b.git("init", "--quiet", "--bare", "-b", "main", remote)
	b.git("init", "--quiet", "-b", "main")
	b.git("remote", "add", "origin", "me@example:"+remote)
	b.git("add", "-A")
	b.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "work")
	b.do("kernel", "init", "scout", "--path", b.data)

	if out := b.do("kernel", "tick", "scout", "-j"); !strings.Contains(out, `"tick":113,"status":"normal"`) {
		t.Error(out)
	}
	if got, want := b.read("notes/hooks"), textOf(archive, "hooks"); got != want {
		t.Errorf("the hooks wrote\n%swant\n%s", got, want)
	}
	if got := b.read("../told"); !strings.Contains(got, "Open terminals: 0 (main), 1 (notes)") || !strings.Contains(got, "113 in sandbox") {
		t.Errorf("the agent was told %s", got)
	}
	for _, name := range []string{"data/system/agent_config.json", "data/system/startup.json", "data/system/prompt.md", "data/notes/diary.md"} {
		if got, want := b.read("../"+name), textOf(archive, name); got != want {
			t.Errorf("%s is %q, and was %q", name, got, want)
		}
	}
	if logs := b.do("kernel", "logs", "scout"); !strings.Contains(logs, "git push: pushed: main") {
		t.Errorf("the log:\n%s", logs)
	}
	if got, want := b.git("--git-dir="+remote, "rev-parse", "main"), b.git("rev-parse", "main"); got != want {
		t.Errorf("the remote has %s, want %s", got, want)
	}

	// A hook turns the repository into a partial clone whose commit is missing:
	// git would ask the remote for it, by a program that the configuration names.
	escaped := filepath.Join(dir, "escaped")
	b.put("system/hooks/post-tick/90-escape", `#!/bin/sh
cd "$(dirname "$0")/../../../.git" || exit
echo 1111111111111111111111111111111111111111 >refs/heads/main
cat >config <<END
[core]
	repositoryformatversion = 1
[extensions]
	partialClone = evil
[remote "evil"]
	url = .
	promisor = true
	uploadpack = "(id; hostname) >`+escaped+`; true"
END
`)
	if out := b.do("kernel", "tick", "scout", "-j"); !strings.Contains(out, `"tick":114,"status":"normal"`) {
		t.Error(out)
	}
	if config := b.read(".git/config"); !strings.Contains(config, "promisor") {
		t.Errorf("the hook did not run: the configuration is\n%s", config)
	}
	if who, err := os.ReadFile(escaped); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program of the container's ran on this machine: %s (%v)", who, err)
	}
	logs := b.do("kernel", "logs", "scout")
	if _, second, _ := strings.Cut(logs, "git push: pushed: main"); !strings.Contains(second, "git push: ") {
		t.Errorf("the log does not tell of the push:\n%s", logs)
	}
	b.do("kernel", "remove", "scout")
}

// git runs git in the repository.
func (b *kernelBox) git(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.data, b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// textOf is a file of an archive.
func textOf(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// tickLock is the lock of the only instance.
func (b *kernelBox) tickLock() string {
	b.t.Helper()
	locks, err := filepath.Glob(filepath.Join(variable(b.env, "XDG_STATE_HOME"), "den/kernel/*/tick.lock"))
	if err != nil || len(locks) != 1 {
		b.t.Fatalf("%v, %v", locks, err)
	}
	return locks[0]
}
