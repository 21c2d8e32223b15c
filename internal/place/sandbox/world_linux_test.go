package sandbox_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/place/sandbox"
	"den/internal/testkit/need"
)

// The test binary is den where it confines, and the program in the sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case sandbox.Verb:
			os.Exit(sandbox.Main(os.Args[2:], os.Environ(), os.Stdout, os.Stderr))
		case "hostile":
			hostile(os.Args[2])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

const secret = "SECRET-4711"

// secrets are files of a home that no agent has to do with.
var secrets = []string{
	".ssh/id_ed25519", ".ssh/config", ".aws/credentials", ".config/gcloud/credentials.db", ".azure/token", ".kube/config", ".netrc", ".git-credentials",
	".config/git/credentials", ".docker/config.json", ".npmrc", ".gnupg/private-keys-v1.d/key", ".bash_history", ".config/gh/hosts.yml", ".mozilla/cookies", "notes.txt",
}

// world is a machine with a home full of secrets, a repository with two
// worktrees, and a process and sockets that are not the agent's.
type world struct {
	t      *testing.T
	dir    string
	den    string // the test binary, where everybody may run it
	uid    uint32
	policy sandbox.Policy
	stolen []string // what must not be read
	kept   []string // what must not be written
}

// user is who runs the agent.
var users = map[string]uint32{"root": 0, "nobody": 65534}

func newWorld(t *testing.T, uid uint32, namespaces bool) *world {
	t.Helper()
	return newWorldIn(t, "/tmp", uid, namespaces)
}

// newWorldIn has the world in a directory that everybody may enter.
func newWorldIn(t *testing.T, base string, uid uint32, namespaces bool) *world {
	t.Helper()
	if os.Getuid() != 0 {
		if uid == 0 {
			need.Feature(t, "the sandbox of root needs root: run the tests as root to see this one")
		}
		uid = uint32(os.Getuid())
	}
	need.Program(t, "git")
	dir, err := os.MkdirTemp(base, "den-sb-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, uid: uid, den: filepath.Join(dir, "tools/bin/den")}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	w.write("tools/bin/den", string(self), 0o755)
	for _, name := range secrets {
		w.write("home/"+name, secret, 0o600)
		w.stolen = append(w.stolen, w.at("home/"+name))
	}
	w.write("home/.gitconfig", "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n", 0o644)
	w.write("home/.vendor/credentials.json", "{}", 0o600)
	w.write("home/.vendor/settings.json", `{"hooks":{}}`, 0o600)
	for _, name := range []string{"den/workspaces/1/state.json", "den/workspaces/1/worktrees/other/tree/file", "otherhome/.ssh/id_rsa", "elsewhere/file", "den/workspaces/1/sandbox/other/home/x"} {
		w.write(name, secret, 0o600)
		w.stolen = append(w.stolen, w.at(name))
	}
	w.sh("cd " + w.at("") + ` && export HOME=$PWD/home && git init -q repo && cd repo && echo a >a && git add a && git commit -qm a &&
		git worktree add -q -b den/coder ../den/workspaces/1/worktrees/coder/tree && git worktree add -q -b den/two ../den/workspaces/1/worktrees/two/tree`)
	tree := w.at("den/workspaces/1/worktrees/coder/tree")
	w.policy = sandbox.Policy{
		Agent: "coder", WorkDir: tree, Home: w.at("home"), Private: w.at("den/workspaces/1/sandbox/coder"),
		Write: []string{w.at("home/.vendor")}, Keep: []string{w.at("home/.vendor/settings.json"), w.at("home/.vendor/hooks/")},
		Hide: []string{w.at("den")}, Network: sandbox.NetworkAny,
	}
	w.stolen = append(w.stolen, w.at("repo/a"), w.at("den/workspaces/1/worktrees/two/tree/a"))
	w.kept = []string{
		w.at("repo/.git/config"), w.at("repo/.git/hooks/pre-commit"), w.at("repo/.git/HEAD"), w.at("repo/.git/info/exclude"), w.at("repo/.git/worktrees/tree1/HEAD"), w.at("home/.gitconfig"),
		w.at("tools/bin/den"), "/usr/bin/env", "/etc/passwd", "/etc/hosts", w.at("den/workspaces/1/sandbox/coder/policy.json"),
	}
	if namespaces {
		w.kept = append(w.kept, w.at("home/.vendor/settings.json"), w.at("home/.vendor/hooks/x"), filepath.Join(tree, ".git"), w.at("repo/.git/worktrees/tree/commondir"))
	}
	w.give()
	w.policy.Held = w.support(namespaces)
	return w
}

// support is what is tried: what this machine can, or Landlock alone.
func (w *world) support(namespaces bool) sandbox.Support {
	w.t.Helper()
	cmd := w.as(exec.Command(w.den, sandbox.Verb, "--probe"))
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatal(err)
	}
	var s sandbox.Support
	if err := json.Unmarshal(out, &s); err != nil {
		w.t.Fatal(err)
	}
	switch {
	case s.Landlock == 0:
		need.Feature(w.t, "the kernel has no Landlock")
	case namespaces && s.Namespaces == "":
		need.Feature(w.t, "no namespaces can be made: %s", s.Why)
	case !namespaces:
		s = sandbox.Support{Landlock: s.Landlock, Why: "the test has none"}
	}
	return s
}

func (w *world) at(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := w.at(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sh(script string) {
	w.t.Helper()
	if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// give makes all of the world the user's.
func (w *world) give() {
	w.t.Helper()
	if os.Getuid() == 0 {
		w.sh(fmt.Sprintf("chown -R %d:%d %s", w.uid, w.uid, w.dir))
	}
	w.sh("chmod 755 " + w.dir)
}

// as lets a command run as the world's user.
func (w *world) as(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + w.at("tools/bin") + ":/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + w.at("home"), "LANG=C.UTF-8", "AWS_SECRET_ACCESS_KEY=" + secret, "DEN_AGENT=coder"}
	if os.Getuid() == 0 && w.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: w.uid, Gid: w.uid}}
	}
	return cmd
}

// confine is a command in the sandbox, in the agent's directory.
func (w *world) confine(argv ...string) *exec.Cmd {
	w.t.Helper()
	if err := w.policy.Prepare(); err != nil {
		w.t.Fatal(err)
	}
	w.give()
	words := w.policy.Wrap(w.den, argv)
	cmd := w.as(exec.Command(words[0], words[1:]...))
	cmd.Dir = w.policy.WorkDir
	return cmd
}

// await is confine for a command that somebody waits for.
func (w *world) await(argv ...string) (*sandbox.Entry, *exec.Cmd) {
	w.t.Helper()
	if err := w.policy.Prepare(); err != nil {
		w.t.Fatal(err)
	}
	entry, err := w.policy.Await()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = entry.Close() }) // Best effort: the next one removes its file.
	return entry, w.confine(argv...)
}

// start starts a command and returns its ends.
func (w *world) start(cmd *exec.Cmd) (io.Closer, *bufio.Reader) {
	w.t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return in, bufio.NewReader(out)
}

// run returns what a script in the sandbox prints, and how it went.
func (w *world) run(script string) (string, error) {
	w.t.Helper()
	out, err := w.confine("sh", "-c", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// everywhere runs a test for each user, with and without namespaces.
func everywhere(t *testing.T, test func(t *testing.T, w *world, namespaces bool)) {
	for name, uid := range users {
		for how, namespaces := range map[string]bool{"namespaces": true, "landlock": false} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				test(t, newWorld(t, uid, namespaces), namespaces)
			})
		}
	}
}

// listen returns a server that nobody in the sandbox may reach, and how many
// have.
func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l
}

// outside starts a process of the same user that is not the agent's, with its
// secrets in its environment and in its directory.
func (w *world) outside() int {
	w.t.Helper()
	cmd := w.as(exec.Command("/bin/sh", "-c", "echo up; exec sleep 1000"))
	cmd.Dir = w.at("elsewhere")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill() // Best effort: the test tells whether somebody else did.
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 3)); err != nil {
		w.t.Fatal(err)
	}
	return cmd.Process.Pid
}

// alive reports whether a process is there and not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z"))
}
