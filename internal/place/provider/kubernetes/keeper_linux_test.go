package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// keeperWorld is a workspace with a keeper of its own, dend.
type keeperWorld struct {
	*testing.T
	den, home string
	env       []string
}

// counters are agents that print numbered lines. Their mark is keeper/ and their
// name.
func counters(names ...string) (text string) {
	for _, name := range names {
		text += fmt.Sprintf("[[agents]]\nname = %q\nstart_command = [\"/bin/sh\", \"-c\", '''%s''']\nenv = {%s = %q}\n[agents.kubernetes]\npull_policy = \"Never\"\n",
			name, counting, markEnv, "keeper/"+name)
	}
	return text
}

// keeperOf writes a workspace with agents in pods.
func (c cluster) keeperOf(t *testing.T, agents string) *keeperWorld {
	t.Helper()
	root := shortDir(t)
	file := filepath.Join(root, "w", "den.toml")
	text := fmt.Sprintf("[workspace]\nname = \"faults\"\n[session]\nprovider = \"kubernetes\"\n[session.kubernetes]\nkubeconfig = %q\nimage = %q\nden_image = %q\n", c.kubeconfig, boxImage, denImage)
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text+agents), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &keeperWorld{T: t, den: c.den, home: filepath.Join(root, "h")}
	w.env = append(os.Environ(), "DEN_HOME="+w.home, "DEN_RUN_DIR="+filepath.Join(root, "r"), "DEN_WORKSPACE="+file, "XDG_STATE_HOME="+filepath.Join(root, "s"))
	t.Cleanup(func() { w.run("down", "-t", "2m") })
	return w
}

func (w *keeperWorld) run(args ...string) string {
	w.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.Fatalf("den %q: %v: %s", args, err, out)
	}
	return out
}

// try is run of something that may fail.
func (w *keeperWorld) try(args ...string) (string, error) {
	cmd := exec.Command(w.den, args...)
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// told is what 'den ps' says.
type told struct {
	Keeper int `json:"keeper_pid"`
	Agents []struct {
		Name       string `json:"name"`
		DenSession string `json:"den_session"`
		Actual     string `json:"actual"`
		Why        string `json:"why"`
		Restarts   int    `json:"restarts"`
	} `json:"agents"`
}

func (w *keeperWorld) ps() (p told) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.run("ps", "-j")), &p); err != nil {
		w.Fatal(err)
	}
	return p
}

// only is the session of which the processes with a mark are.
func only(t *testing.T, mark string) string {
	t.Helper()
	all := copies(mark)
	if len(all) != 1 {
		t.Fatalf("%d sessions are marked %s", len(all), mark)
	}
	for id := range all {
		return id
	}
	return ""
}

// A keeper that is killed leaves its agents running. The next one adopts them,
// starts none twice, has all that they printed meanwhile, and starts those anew
// that ended meanwhile.
func TestKeeperKilled(t *testing.T) {
	c := theCluster(t)
	w := c.keeperOf(t, counters("a", "b", "c"))
	w.run("up", "--wait", "-t", "2m")
	before := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		before[name] = only(t, "keeper/"+name)
	}
	killed := w.ps()
	if err := syscall.Kill(killed.Keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	died := time.Now()
	eventually(t, "the keeper is gone", func() bool { return syscall.Kill(killed.Keeper, 0) == syscall.ESRCH })
	killProgram(t, "keeper/b")
	eventually(t, "an agent ends while nobody looks", func() bool { return len(copies("keeper/b")) == 0 })
	w.run("up", "--wait", "-t", "2m")
	took := time.Since(died)
	now := w.ps()
	if now.Keeper == killed.Keeper {
		t.Fatal("it is the same keeper")
	}
	for _, a := range now.Agents {
		if a.Actual != "running" {
			t.Errorf("%s is %s: %s", a.Name, a.Actual, a.Why)
		}
		id := only(t, "keeper/"+a.Name)
		if again := id != before[a.Name]; again != (a.Name == "b") {
			t.Errorf("%s is session %s, was %s", a.Name, id, before[a.Name])
		}
		if again := a.Restarts > 0; again != (a.Name == "b") {
			t.Errorf("%s was restarted %d times", a.Name, a.Restarts)
		}
	}
	if logs := w.run("agent", "logs", "b"); !strings.Contains(logs, "exit 137") {
		t.Errorf("how b ended is not told: %s", logs)
	}
	nothingLost(t, w.home, before["b"], 1)
	w.run("down", "-t", "2m")
	n := nothingLost(t, w.home, before["a"], 1)
	figure(t, "all run %.1f s after the keeper was killed; 2 of 3 adopted, the one that had ended started once; %d lines, none lost", took.Seconds(), n)
}

// talker answers what is said to it, tells where it is, and uses its channels by
// den's verbs and by den's MCP server, which run in its pod.
const talker = `
[[agents]]
name = "echo"
agent = "script"
channels = ["#general"]
env = { KEY = "hush-hush" }
start_command = ["sh", "-c", '''
x=$(cat)
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$@" >&3; read -r answer <&4; }
case $x in
*where*) echo "$(id -u) $HOME ${#KEY}";;
*channels*) den channel channels;;
*tools*)
	mkfifo /tmp/in /tmp/out
	den mcp </tmp/in >/tmp/out &
	exec 3>/tmp/in 4</tmp/out
	call 1 initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
	echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
	call 2 tools/call '{"name":"channel_list","arguments":{}}'
	case $answer in *#general*) echo listed;; *) echo "$answer";; esac
	call 3 tools/call '{"name":"run","arguments":{"code":"echo $((40+2))"}}'
	case $answer in *42*) echo run;; *) echo "$answer";; esac;;
*) echo "${x##*say }";;
esac
''']
[agents.kubernetes]
pull_policy = "Never"
`

// An agent with a protocol lives in a pod: its harness runs here and is in the
// channels, its program there. From its pod it reaches the channels, also after the
// stream there was cut.
func TestMindInAPod(t *testing.T) {
	c := theCluster(t)
	through := newProxy(t, c.kubeconfig)
	c.kubeconfig = through.kubeconfig
	w := c.keeperOf(t, talker)
	w.run("up", "--wait", "-t", "2m")
	ask := func(said, want string) {
		t.Helper()
		if got := strings.TrimSpace(w.run("agent", "ask", "echo", said, "-t", "1m")); got != want {
			t.Errorf("%q is answered with %q, want %q", said, got, want)
		}
	}
	ask("say hello", "hello")
	ask("where are you?", "1000 /home/agent 9")
	ask("your channels?", "#general")
	ask("your tools?", "listed\nrun")
	through.drop()
	eventually(t, "the agent reaches its channels again", func() bool {
		out, err := w.try("agent", "ask", "echo", "your channels?", "-t", "1m") // fails until it does
		return err == nil && strings.TrimSpace(out) == "#general"
	})
}
