package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/testkit/dentest"
)

// boxedAgent is an agent whose program runs in a container: it answers what is
// said, tells where it is, and hangs with a daemon beside it.
const boxedAgent = `
[workspace]
name = "boxes"
[session.container]
engine = "podman"
socket = "%[1]s"
[[agents]]
name = "boxy"
agent = "script"
session_provider = "container"
dir = "%[2]s"
channels = ["#general"]
start_command = ["sh", "agent.sh"]
env = { KEY = { file = "%[3]s" } }
container = { image = "localhost/den-test-box:1", network = "none" }
`

const boxedScript = `
x=$(cat)
case $x in
*"cut off"*) echo resumed;;
*where*) echo "$(cat /etc/inside) ${#KEY} $PWD $DEN_NICK $(den channel channels)";;
*remember*) echo kept >/tmp/kept; echo done;;
*recall*) cat /tmp/kept;;
*hang*) setsid sleep 987654 & echo up >begun; exec sleep 987654;;
*) echo "${x##*say }";;
esac
`

// An agent with a protocol lives in a container: its harness runs here, its
// program there, with its secrets, its directory and its way into the channels.
// When the harness is killed, nothing of the program is left; the container
// stays. 'den down' leaves no container. make test-podman runs it.
func TestHarnessBesideAContainer(t *testing.T) {
	need.Target(t, "DEN_TEST_PODMAN", "make test-podman")
	podman := startContainer(t)
	podman.importImage(t, "localhost/den-test-box:1")
	w := newWorld(t)
	w.den = staticDen(t)
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	file := filepath.Join(dir, "den.toml")
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		key: "hush-hush\n", filepath.Join(work, "agent.sh"): boxedScript, file: fmt.Sprintf(boxedAgent, podman.serve(t), work, key),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(w.env, "DEN_WORKSPACE="+file)
	w.do("up", "--wait", "-t", "2m")
	t.Cleanup(func() { w.try("down", "-t", "1m") })

	ask := func(text string) string { return strings.TrimSpace(w.do("agent", "ask", "boxy", text, "-t", "1m")) }
	if got := ask("say hello"); got != "hello" {
		t.Errorf("%q", got)
	}
	if got, want := ask("where are you?"), "the box 9 "+work+" boxy #general"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := ask("remember this"); got != "done" {
		t.Errorf("%q", got)
	}
	w.do("agent", "nudge", "boxy", "hang now", "-t", "1m")
	awaitFile(t, filepath.Join(work, "begun"))
	awaitHanging(t, 2)
	for _, pid := range openedBy(t, filepath.Join(dir, ".den", "minds", "boxy", "harness.lock")) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	awaitHanging(t, 0)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // until the next harness listens
		if _, told, code := w.try("harness", "status", "boxy"); code == 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the agent is not started again: %s%s", told, w.do("agent", "logs", "boxy"))
		}
	}
	if got := ask("recall it"); got != "kept" {
		t.Errorf("after a kill of the harness: %q", got)
	}
	w.do("down", "-t", "1m")
	if left := podman.output(t, "ps", "--all", "--filter", "name=den-", "--quiet"); left != "" {
		t.Errorf("containers are left: %s", left)
	}
}

// hanging lists the processes of the script that hang, wherever they are.
func hanging(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && string(line) == "sleep\x00987654\x00" {
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}

// awaitHanging waits until so many processes hang.
func awaitHanging(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(hanging(t)) != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("processes %v hang, want %d", hanging(t), want)
		}
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s did not appear", path)
		}
	}
}

// staticDen builds den and dend as they are installed, and returns den: one with
// libraries of this machine runs in no container.
func staticDen(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := dentest.Build(dir, "den", "dend"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "den")
}

// importImage makes an image of the container's root directory.
func (c container) importImage(t *testing.T, ref string) {
	t.Helper()
	root := filepath.Join(c.Dir, "rootfs")
	if err := os.WriteFile(filepath.Join(root, "etc", "inside"), []byte("the box"), 0o644); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(c.Dir, "image.tar")
	if out, err := exec.Command("tar", "-C", root, "--exclude", "./proc/*", "--exclude", "./sys/*", "--exclude", "./dev/*", "-cf", archive, ".").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	c.Run(t, "import", archive, ref)
}

// serve runs podman's service and returns its socket.
func (c container) serve(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(c.Dir, "sock")
	cmd := exec.Command(c.Argv[0], append(c.Argv[1:], "system", "service", "--time=0", "unix://"+socket)...)
	cmd.Env = append(os.Environ(), c.Env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // it was killed
	})
	awaitFile(t, socket)
	return socket
}

// output runs podman and returns what it prints.
func (c container) output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(c.Argv[0], append(c.Argv[1:], args...)...)
	cmd.Env = append(os.Environ(), c.Env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("podman %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
