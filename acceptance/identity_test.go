package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// starts counts how often agents were started.
func (c *chaos) starts() int {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.traces, "starts"))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Count(string(raw), "\n")
}

// in is the environment from now on.
func (c *chaos) in(vars ...string) { c.env = append(c.env, vars...) }

// keeperPID returns the only keeper.
func (c *chaos) keeperPID() int {
	c.t.Helper()
	pids := c.processes("dend")
	if len(pids) != 1 {
		c.t.Fatalf("keepers: %v, want one", pids)
	}
	return pids[0]
}

// A workspace has one set of agents, whatever Home and run directory whoever
// calls has.
func TestAgentsAreTheSameInAnyEnvironment(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		c := newChaos(t, kind, 2)
		c.must("up", "--wait", "-t", "60s")
		for _, env := range []string{"DEN_HOME=", "DEN_RUN_DIR=", "XDG_RUNTIME_DIR="} {
			c.killKeeper()
			dir, err := os.MkdirTemp("/tmp", "den-e-") // short: sockets go here
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			c.in(env + dir)
			c.must("up", "--wait", "-t", "60s")
			c.mustRun(2)
		}
		if n := c.starts(); n != 2 {
			t.Errorf("%d starts of 2 agents", n)
		}
		c.killKeeper()
		c.must("down", "-t", "60s")
		c.mustRun(0)
	})
}

// A workspace that is moved while it is kept takes its agents along: its keeper
// ends and the next one, at the new place, finds them.
func TestMovedWorkspaceKeepsItsAgents(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		c := newChaos(t, kind, 2)
		c.must("up", "--wait", "-t", "60s")
		old := c.keeperPID()
		moved := c.dir + "-moved"
		if err := os.Rename(c.dir, moved); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(moved) })
		c.awaitEnd(old)
		c.mustRun(2)
		c.dir = moved
		c.in("DEN_WORKSPACE=" + filepath.Join(moved, "den.toml"))
		c.must("up", "--wait", "-t", "60s")
		c.mustRun(2)
		if n := c.starts(); n != 2 {
			t.Errorf("%d starts of 2 agents", n)
		}
		if log := c.must("agent", "logs"); !strings.Contains(log, "was removed or moved away") {
			t.Errorf("the keeper did not say why it ended:\n%s", log)
		}
		c.must("down", "-t", "60s")
		c.mustRun(0)
	})
}

// A copy of a workspace is another one: it has agents of its own, and nothing
// that is done to it touches the original's.
func TestCopiedWorkspaceIsAnother(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		c := newChaos(t, kind, 2)
		c.must("up", "--wait", "-t", "60s")
		twin := &chaos{world: c.world, dir: t.TempDir(), traces: t.TempDir()}
		if err := os.CopyFS(twin.dir, os.DirFS(c.dir)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(twin.dir, "den.toml")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(raw), c.traces, twin.traces)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, _, code := c.try("ps", "-f", file); code == 0 {
			t.Errorf("the copy was never up, and has a keeper:\n%s", out)
		}
		c.must("down", "-f", file)
		c.mustRun(2)
		c.must("up", "--wait", "-t", "60s", "--trust", "-f", file)
		t.Cleanup(func() { c.try("down", "-t", "30s", "-f", file) })
		c.mustRun(2)
		twin.mustRun(2)
		c.must("down", "-f", file, "-t", "60s")
		twin.mustRun(0)
		c.mustRun(2)
	})
}

// A keeper whose state directory is removed, as by 'git clean -fdx', ends and
// leaves its agents to the next one.
func TestKeeperEndsWithItsStateDirectory(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		c := newChaos(t, kind, 2)
		c.must("up", "--wait", "-t", "60s")
		old := c.keeperPID()
		if err := os.RemoveAll(filepath.Join(c.dir, ".den")); err != nil {
			t.Fatal(err)
		}
		c.must("up", "--wait", "-t", "60s") // at once: the old one may still be there
		c.awaitEnd(old)
		c.mustRun(2)
		if n := c.starts(); n != 2 {
			t.Errorf("%d starts of 2 agents", n)
		}
		if log := c.must("agent", "logs"); !strings.Contains(log, "keeper.lock was removed") {
			t.Errorf("nobody says why the keeper ended:\n%s", log)
		}
		if err := os.RemoveAll(filepath.Join(c.dir, ".den")); err != nil {
			t.Fatal(err)
		}
		c.must("down", "-t", "60s") // with nothing but the agents left
		c.mustRun(0)
	})
}

// Two files in one directory are two workspaces.
func TestTwoFilesInOneDirectory(t *testing.T) {
	c := newChaos(t, "native", 2)
	other := filepath.Join(c.dir, "other.toml")
	if err := os.WriteFile(other, []byte("[workspace]\nname = \"other\"\n[[agents]]\nname = \"x\"\nstart_command = \"cat\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("up", "--wait", "-t", "60s")
	c.must("up", "--wait", "-t", "60s", "-f", other)
	t.Cleanup(func() { c.try("down", "-f", other, "-t", "30s") })
	if ps := c.must("ps", "-f", other); !strings.Contains(ps, "den-other-x") || strings.Contains(ps, "chaos") {
		t.Errorf("the other file's keeper keeps\n%s", ps)
	}
	c.must("down", "-f", other, "-t", "60s")
	c.mustRun(2)
}
