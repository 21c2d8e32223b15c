package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sleeper is a kernel in a pod: its mind and its terminals are there.
const sleeper = `
[[agents]]
name = "ada"
start_command = "/opt/den/den kernel watch ada"
pre_start = ["""
/opt/den/den kernel init ada --example --path /data/ada &&
sed -i s/bash/sh/ /data/ada/system/mind /data/ada/system/startup.json &&
/opt/den/den kernel trigger ada hello"""]
env = { HOME = "/data" }
[agents.kubernetes]
pull_policy = "Never"
volumes = [{path = "/data"}, {path = "/opt/den", host_path = %q, read_only = true}]
`

// A kernel runs in a pod, in which its agent's terminals are, too.
func TestKernelInAPod(t *testing.T) {
	c := theCluster(t)
	bin := filepath.Dir(c.den)
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	w := c.keeperOf(t, fmt.Sprintf(sleeper, bin))
	w.run("up", "--wait", "-t", "2m")
	name := w.ps().Agents[0].DenSession
	w.run("wait", name, "--text", "tick ended", "-t", "2m")
	if screen := w.run("snapshot", name); !strings.Contains(screen, "outcome=normal") {
		t.Errorf("the tick has ended:\n%s", screen)
	}
}
