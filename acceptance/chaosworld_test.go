package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// chaosAgent is an agent that notices a second copy of itself and writes down
// every line that it reads.
const chaosAgent = `#!/bin/bash
# $1 is the agent's name, $2 where it leaves its traces.
exec 9>"$2/$1.lock"
if ! flock -n 9; then
	echo "$1" >>"$2/doubles"
	exit 99
fi
echo "$1" >>"$2/starts"
while read -r -p "ready> " line; do
	echo "$line" >>"$2/$1.got"
done
`

// chaos is a workspace whose agents leave traces.
type chaos struct {
	*world
	dir, traces string
}

func newChaos(t *testing.T, kind string, agents int) *chaos {
	t.Helper()
	c := &chaos{world: newWorld(t), dir: t.TempDir(), traces: t.TempDir()}
	c.env = append(c.env, "DEN_DEND="+filepath.Join(filepath.Dir(c.den), "dend"), "DEN_WORKSPACE="+filepath.Join(c.dir, "den.toml"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(filepath.Dir(c.den), "dend")); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(c.dir, "agent.sh")
	if err := os.WriteFile(script, []byte(chaosAgent), 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[workspace]\nname = \"chaos\"\n[session]\nprovider = %q\n[keeper]\npatrol_interval = \"1s\"\n", kind)
	ready := "ready_prompt_prefix = \"ready>\"\n"
	if kind == "subprocess" {
		ready = "" // bash shows its prompt on terminals only
	}
	for i := range agents {
		config += fmt.Sprintf("[[agents]]\nname = \"a%d\"\nstart_command = [%q, \"a%d\", %q]\n"+ready+
			"restart = { max_restarts = 100000, backoff = \"10ms\", backoff_max = \"50ms\" }\n", i, script, i, c.traces)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "den.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.try("down", "-t", "30s") })
	return c
}

func (c *chaos) must(args ...string) string {
	c.t.Helper()
	out, errOut, code := c.try(args...)
	if code != 0 {
		c.t.Fatalf("den %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

func (c *chaos) kill(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL) // it may just have gone
	}
}

// processes finds this workspace's processes that were started as the command
// line's first words. A process that is about to become another one, which it
// is for a moment after its parent forked, is not one of them.
func (c *chaos) processes(command ...string) (found []int) {
	c.t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Fatal(err)
	}
	tests := filepath.Dir(c.dir) + "/" // where all directories of this test are; also the HOME of hosts
	parents := map[int]int{}
	for _, p := range procs {
		cmdline, err := os.ReadFile(filepath.Join(p, "cmdline"))
		if err != nil || !isCommand(strings.Split(string(cmdline), "\x00"), command) {
			continue
		}
		env, err := os.ReadFile(filepath.Join(p, "environ"))
		if err != nil || !strings.Contains(string(env), tests) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(p))
		if err == nil && pid != os.Getpid() && runs(pid) {
			parents[pid] = parentOf(pid)
		}
	}
	for pid, parent := range parents {
		if _, forked := parents[parent]; !forked {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return found
}

func isCommand(argv, command []string) bool {
	argv[0] = filepath.Base(argv[0])
	return len(argv) >= len(command) && slices.Equal(argv[:len(command)], command)
}

// parentOf returns a process's parent, 0 if it has just ended.
func parentOf(pid int) int {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // Best effort: it may be gone.
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // Best effort: the kernel writes a number.
	return parent
}
