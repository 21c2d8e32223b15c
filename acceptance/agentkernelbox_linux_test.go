package acceptance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/podmantest"
)

// TestAgentKernelInAContainer is TestAgentKernel with terminals in a container
// of podman. The agents themselves are on this machine.
func TestAgentKernelInAContainer(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range kernelAgents {
		if a.name != "claude" && a.name != "codex" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			stub := modelstub.Start(t)
			w, data := a.world(t, stub)
			engine := podmantest.Own(t)
			w.den = staticDen(t)
			w.env = append(w.env, "CONTAINER_HOST=unix://"+engine.Socket)
			config := strings.TrimSuffix(a.config, "}") + `, "container": {"engine": "podman", "network": "none"}}`
			box := filepath.Join(data, "system/container")
			if err := errors.Join(
				os.MkdirAll(box, 0o755),
				os.WriteFile(filepath.Join(data, "system/agent_config.json"), []byte(config), 0o644),
				os.WriteFile(filepath.Join(box, "Containerfile"), []byte("FROM "+podmantest.BaseImage+"\nCOPY word /inside\n"), 0o644),
				os.WriteFile(filepath.Join(box, "word"), []byte("the terminal\n"), 0o644),
			); err != nil {
				t.Fatal(err)
			}
			m := &kernelMind{t: t, agent: a, types: "echo $((6*7)) in $(cat /inside)"}
			stub.Always(modelstub.Offers(a.offers), modelstub.Decide(m.reply))
			out, errOut, code := w.try("kernel", "tick", "demo", "-j")
			t.Logf("what the model heard:\n%s\n%s", strings.Join(m.heard(), "\n---\n"), errOut)
			if code != 0 || !strings.Contains(out, `"reason":"normal"`) || !strings.Contains(out, kernelWords) {
				t.Errorf("exit %d\n%s", code, out)
			}
			m.check(stub)
			w.do("kernel", "remove", "demo")
		})
	}
}
