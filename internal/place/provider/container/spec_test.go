package container_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"den/internal/place/provider/container"
	"den/internal/place/workspace"
)

func loadWorkspace(t *testing.T, text string) *workspace.Workspace {
	t.Helper()
	path := filepath.Join(t.TempDir(), "den.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

func TestDecodeSpec(t *testing.T) {
	ws := loadWorkspace(t, `
[session]
provider = "container"
engine = "docker"
[session.container]
socket = "/run/engine.sock"
[defaults.container]
memory = "1g"
network = "none"
[[agents]]
name = "a"
start_command = "x"
container = { image = "i", memory = "512m", pids = 100, cpus = 1.5, mounts = ["m", "/abs"] }
[[agents]]
name = "b"
start_command = "x"
container = { context = "dir" }
`)
	want := []container.Spec{
		{Image: "i", Memory: "512m", PIDs: 100, CPUs: 1.5, Network: "none", Mounts: []workspace.Path{workspace.Path(filepath.Join(ws.Dir, "m")), "/abs"}},
		{Context: workspace.Path(filepath.Join(ws.Dir, "dir")), Memory: "1g", Network: "none"},
	}
	for i := range want {
		got, problems := container.DecodeSpec(&ws.Agents[i])
		if len(problems) > 0 || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%+v, %v; want %+v", got, problems, want[i])
		}
	}
	engine, problems := container.DecodeEngine(ws.Session.Tables.Container)
	if len(problems) > 0 || engine != (container.EngineOptions{Engine: "docker", Socket: "/run/engine.sock"}) {
		t.Errorf("%+v, %v", engine, problems)
	}
}

// Every problem is reported at its line.
func TestDecodeSpecProblems(t *testing.T) {
	ws := loadWorkspace(t, `
[session]
engine = "dokcer"
[[agents]]
name = "a"
start_command = "x"
[agents.container]
memory = "lots"
network = "hots"
cpu = 3
pids = "many"
cpus = -1
[[agents]]
name = "b"
start_command = "x"
session_provider = "container"
[[agents]]
name = "c"
start_command = "x"
[agents.container]
image = "i"
context = "d"
`)
	var all workspace.Problems
	for i := range ws.Agents {
		_, problems := container.DecodeSpec(&ws.Agents[i])
		all = append(all, problems...)
	}
	_, problems := container.DecodeEngine(ws.Session.Tables.Container)
	all = append(all, problems...)
	for _, want := range []string{
		"den.toml:3: 'container.engine' is 'dokcer'; it must be one of podman, docker, did you mean 'docker'?",
		"den.toml:8: agent 'a': 'memory' is such as",
		"den.toml:9: 'container.network' is 'hots'; it must be one of none, host, default, did you mean 'host'?",
		"den.toml:10: unknown key 'cpu' in container, did you mean 'cpus'?",
		"den.toml:11: 'pids' must be a whole number",
		"den.toml:12: agent 'a': 'cpus' is negative",
		"den.toml:16: agent 'b' lives in a container: [agents.container] needs an 'image' or a 'context'",
		"den.toml:22: agent 'c': 'image' and 'context' exclude each other",
	} {
		if !strings.Contains(all.Error(), want) {
			t.Errorf("missing %q", want)
		}
	}
	if t.Failed() {
		t.Log(all)
	}
}
