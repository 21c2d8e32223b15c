package container_test

import (
	"os/exec"
	"strings"
	"testing"

	"den/internal/place/provider/container"
	"den/internal/testkit/podmantest"

	"github.com/moby/moby/client"
)

// Where the limits stand in both layouts of control groups.
const showLimits = `cd /sys/fs/cgroup
echo "memory $(cat memory.max memory/memory.limit_in_bytes 2>/dev/null)"
echo "pids $(cat pids.max pids/pids.max 2>/dev/null)"
echo "cpu $(cat cpu.max 2>/dev/null)$(cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us 2>/dev/null)" | tr '\n' ' '
echo; echo shown.; sleep 1000`

func TestLimitsHold(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	c := shell(t, showLimits)
	c.Options = container.Spec{Image: podmantest.BaseImage, Network: "none", Memory: "64m", PIDs: 50, CPUs: 0.5}
	if err := p.Start(t.Context(), "w", c); err != nil {
		t.Fatal(err)
	}
	sees(t, p, "w", "shown.")
	text, err := p.Peek(t.Context(), "w", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"memory 67108864", "pids 50", "cpu 50000 100000"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not show %q", text, want)
		}
	}
	// A program that takes more than that is killed, and its host tells.
	c.Argv = []string{"sh", "-c", "echo eats; tail /dev/zero"}
	if err := p.Start(t.Context(), "eater", c); err != nil {
		t.Fatal(err)
	}
	ended(t, p, "eater")
	if exit, err := p.Exit(t.Context(), "eater"); err != nil || exit.Code != 137 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	sees(t, p, "eater", "eats")
}

// noDefault says why the engine has no default network, or "".
func noDefault(t *testing.T, e *podmantest.Engine) string {
	t.Helper()
	if _, err := exec.LookPath("iptables"); err != nil {
		return "it is made with iptables, which is not installed; " + podmantest.HowToGet
	}
	var list client.NetworkListResult
	err := container.RetryWhileRemoving(t.Context(), func() (err error) {
		list, err = e.API.NetworkList(t.Context(), client.NetworkListOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list.Items {
		if n.Name == "podman" || n.Name == "bridge" {
			return ""
		}
	}
	return "the engine was started without one"
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	without := noDefault(t, e)
	for network, want := range map[string]func(devices string) bool{
		"none":    func(d string) bool { return d == "lo" },
		"host":    func(d string) bool { return d != "lo" },
		"default": func(d string) bool { return strings.Contains(d, "eth0") },
		"":        func(d string) bool { return strings.Contains(d, "eth0") },
	} {
		if without != "" && (network == "" || network == "default") {
			t.Logf("network %q is not tried: %s", network, without)
			continue
		}
		c := shell(t, `echo "devices:" $(ls /sys/class/net)"."; sleep 1000`)
		c.Options = container.Spec{Image: podmantest.BaseImage, Network: network}
		name := "on-" + network
		if err := p.Start(t.Context(), name, c); err != nil {
			t.Errorf("network %q: %v", network, err)
			continue
		}
		sees(t, p, name, ".")
		text, err := p.Peek(t.Context(), name, 0)
		_, devices, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(text), "."), "devices: ")
		if err != nil || !want(devices) {
			t.Errorf("network %q: %q, %v", network, text, err)
		}
	}
	c := shell(t, "true")
	c.Options = container.Spec{Image: podmantest.BaseImage, Network: "bridge"}
	if err := p.Start(t.Context(), "w", c); err == nil {
		t.Error("network bridge: no error")
	}
}
