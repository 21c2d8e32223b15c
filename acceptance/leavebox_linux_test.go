package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"
)

// Where the agents of TestAgentsLeaveContainers may live.
const (
	inContainer = `session_provider = "container"
container = { image = "localhost/den-test-box:1", network = "none" }
`
	onThisMachine = ""
	talks         = `agent = "script"
start_command = ["sh", "-c", "cat"]
`
	isTerminal = `start_command = ["sh", "-c", "while :; do sleep 1; done"]
`
)

// An agent that its file moves out of a container leaves nothing there, and one
// that becomes a terminal in a container, or the other way round, has one
// container: its own. make test-podman runs it.
func TestAgentsLeaveContainers(t *testing.T) {
	need.Target(t, "DEN_TEST_PODMAN", "make test-podman")
	podman := startContainer(t)
	podman.importImage(t, "localhost/den-test-box:1")
	socket := podman.serve(t)
	w := newWorld(t)
	w.den = staticDen(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "den.toml")
	write := func(what, where string) {
		t.Helper()
		text := fmt.Sprintf("[workspace]\nname = \"leave\"\n[session.container]\nengine = \"podman\"\nsocket = %q\n[[agents]]\nname = \"mover\"\n%s%s", socket, what, where)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(w.env, "DEN_WORKSPACE="+file)
	write(talks, inContainer)
	w.do("up", "--wait", "-t", "2m")
	t.Cleanup(func() { w.try("down", "-t", "1m") })

	containers := func() int {
		return len(strings.Fields(podman.output(t, "ps", "--all", "--filter", "name=den-", "--quiet")))
	}
	sessions := func() int { return len(w.ask("ls")["sessions"].([]any)) }
	started := func() int { return strings.Count(w.do("agent", "logs"), "agent.started") }
	for i, step := range []struct {
		what, where string
		provider    string
		containers  int
		sessions    int // a container is one, and a harness
	}{
		{talks, inContainer, "container", 1, 2},
		{talks, onThisMachine, "native", 0, 1},
		{talks, inContainer, "container", 1, 2},
		{isTerminal, inContainer, "container", 1, 1},
		{isTerminal, onThisMachine, "native", 0, 1},
		{isTerminal, inContainer, "container", 1, 1},
		{talks, inContainer, "container", 1, 2},
	} {
		write(step.what, step.where)
		w.do("reload")
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			now := w.ask("ps")["agents"].([]any)[0].(map[string]any)
			if started() == i+1 && now["actual"] == "running" && now["provider"] == step.provider && containers() == step.containers && sessions() == step.sessions {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("want %+v; there are %d containers and %d sessions, and the agent is %v\n%s", step, containers(), sessions(), now, w.do("agent", "logs"))
			}
		}
	}
	if logs := w.do("agent", "logs"); strings.Contains(logs, "agent.exited") {
		t.Errorf("it was taken for dead on the way:\n%s", logs)
	}
	w.do("down", "-t", "1m")
	if n := containers(); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}
