package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"
)

// kinds are the providers that need nothing but this machine.
var kinds = []string{"native", "tmux", "subprocess"}

func eachKind(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			if _, err := exec.LookPath("tmux"); err != nil && kind == "tmux" {
				need.Missing(t, "tmux is not installed")
			}
			test(t, kind)
		})
	}
}

// agentsRunning counts the processes of each agent, by the directory that they
// leave their traces in. The copy that a shell makes of itself before it runs a
// command is not counted.
func (c *chaos) agentsRunning() map[string]int {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Fatal(err)
	}
	names := map[int]string{}
	for _, path := range procs {
		raw, err := os.ReadFile(filepath.Join(path, "cmdline"))
		if err != nil {
			continue // it has just ended
		}
		argv := strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
		if n := len(argv); n == 4 && strings.HasSuffix(argv[1], "agent.sh") && argv[3] == c.traces {
			pid, _ := strconv.Atoi(filepath.Base(path)) // Best effort: the pattern matches digits only.
			names[pid] = argv[2]
		}
	}
	running := map[string]int{}
	for pid, name := range names {
		if names[parentOf(pid)] != name {
			running[name]++
		}
	}
	return running
}

// mustRun fails unless exactly n agents run, one process each.
func (c *chaos) mustRun(n int) {
	c.t.Helper()
	running := c.agentsRunning()
	for name, count := range running {
		if count != 1 {
			c.t.Errorf("agent %s runs %d times", name, count)
		}
	}
	if len(running) != n {
		c.t.Errorf("%d agents run, want %d: %v", len(running), n, running)
	}
	if raw, err := os.ReadFile(filepath.Join(c.traces, "doubles")); err == nil {
		c.t.Errorf("agents were started twice: %q", raw)
	}
}

// killKeeper kills the keeper and returns when it has ended.
func (c *chaos) killKeeper() {
	c.t.Helper()
	pid := c.keeperPID()
	c.kill([]int{pid})
	c.awaitEnd(pid)
}

// awaitEnd returns when a process is gone. The test's own deadline bounds it.
func (c *chaos) awaitEnd(pid int) {
	for runs(pid) {
		time.Sleep(2 * time.Millisecond)
	}
}

// runs reports whether a process does; a zombie does not.
func runs(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// Without a keeper 'den down' ends the agents all the same, also when the
// workspace's file cannot be read any more.
func TestDownWithoutKeeper(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		c := newChaos(t, kind, 2)
		for _, file := range []string{"", "nonsense"} {
			c.must("up", "--wait", "-t", "60s")
			c.mustRun(2)
			c.killKeeper()
			before, err := os.ReadFile(filepath.Join(c.dir, "den.toml"))
			if err != nil {
				t.Fatal(err)
			}
			if file != "" {
				if err := os.WriteFile(filepath.Join(c.dir, "den.toml"), []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.must("down", "-t", "60s")
			c.mustRun(0)
			if err := os.WriteFile(filepath.Join(c.dir, "den.toml"), before, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c.must("down") // nothing is left to end
	})
}

// 'den up' right after 'den down' meets a keeper that is on its way out.
func TestUpAfterDown(t *testing.T) {
	t.Parallel()
	c := newChaos(t, "native", 1)
	for range 12 {
		c.must("up", "-t", "60s")
		c.must("down", "-t", "60s")
	}
	c.must("up", "--wait", "-t", "60s")
	c.mustRun(1)
}
