package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/need"
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

// chaos is a workspace under attack.
type chaos struct {
	*world
	dir, traces string

	mu       sync.Mutex
	accepted map[string]string // nudges that a keeper took: text and agent
	ended    map[string]record // the records of those that came to an end: the keeper forgets the oldest
}

// Agents, hosts, the keeper and the tmux server are killed at random. At the
// end what is wanted is what is true, no agent ever ran twice at once, and no
// nudge that was accepted is lost: it was read, or the keeper says that it
// cannot tell. DEN_CHAOS sets for how long; 'make chaos' does it for a minute.
func TestChaos(t *testing.T) {
	long := 4 * time.Second
	if s := os.Getenv("DEN_CHAOS"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("DEN_CHAOS: %v", err)
		}
		long = d
	}
	for _, kind := range []string{"native", "tmux"} {
		t.Run(kind, func(t *testing.T) {
			if _, err := exec.LookPath("tmux"); err != nil && kind == "tmux" {
				need.Missing(t, "tmux is not installed")
			}
			c := newChaos(t, kind, 4)
			c.must("up", "--wait", "-t", "60s")
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rnd := rand.New(rand.NewPCG(seed, 1))
			end := time.Now().Add(long)
			for n := 0; time.Now().Before(end); n++ {
				c.strike(rnd, kind)
				c.nudge(rnd, n)
				if n%20 == 0 {
					c.records()
				}
			}
			c.settle()
			c.judge()
		})
	}
}

func newChaos(t *testing.T, kind string, agents int) *chaos {
	t.Helper()
	c := &chaos{world: newWorld(t), dir: t.TempDir(), traces: t.TempDir(), accepted: map[string]string{}, ended: map[string]record{}}
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

// strike kills something.
func (c *chaos) strike(rnd *rand.Rand, kind string) {
	var victims []int
	switch rnd.IntN(10) {
	case 0, 1: // the keeper, and another takes its place
		victims = c.processes("dend")
		c.kill(victims)
		c.must("up", "-t", "60s")
		return
	case 2:
		if kind == "tmux" {
			victims = c.processes("tmux")
			break
		}
		victims = c.processes("den\x00host")
	case 3, 4, 5:
		victims = c.processes("agent.sh")
	default:
		time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond) // let it breathe
		return
	}
	if len(victims) > 0 {
		c.kill([]int{victims[rnd.IntN(len(victims))]})
	}
}

func (c *chaos) kill(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL) // it may just have gone
	}
}

// processes finds this workspace's processes of a kind.
func (c *chaos) processes(kind string) []int {
	var found []int
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, p := range procs {
		cmdline, err := os.ReadFile(filepath.Join(p, "cmdline"))
		if err != nil || !strings.Contains(string(cmdline), kind) {
			continue
		}
		env, err := os.ReadFile(filepath.Join(p, "environ"))
		if err != nil || !strings.Contains(string(env), c.dir) && !strings.Contains(string(cmdline), c.dir) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// nudge gives a random agent a message that nobody else gets.
func (c *chaos) nudge(rnd *rand.Rand, n int) {
	agent, text := fmt.Sprintf("a%d", rnd.IntN(4)), fmt.Sprintf("nudge-%d-of-chaos", n)
	_, _, code := c.try("agent", "nudge", agent, text, "--no-wait")
	if code == 0 {
		c.mu.Lock()
		c.accepted[text] = agent
		c.mu.Unlock()
	}
}

// settle waits until nothing moves any more.
func (c *chaos) settle() {
	c.t.Helper()
	c.must("up", "--wait", "-t", "60s")
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		pending := c.pending()
		if len(pending) == 0 {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("nudges stay on their way: %v\n%s", pending, c.must("ps"))
		}
	}
}

// record is a nudge as the keeper keeps it.
type record struct {
	Text   string `json:"text"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

func (c *chaos) records() map[string]record {
	all := maps.Clone(c.ended)
	files, err := filepath.Glob(filepath.Join(c.dir, ".den", "nudges", "*", "*.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // it has just come to its end
		}
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			c.t.Errorf("%s: %v", f, err)
		}
		all[r.Text] = r
		if r.State != "queued" && r.State != "sending" {
			c.ended[r.Text] = r
		}
	}
	return all
}

func (c *chaos) pending() (left []string) {
	for text, r := range c.records() {
		if r.State == "queued" || r.State == "sending" {
			left = append(left, text+": "+r.State+" "+r.Reason)
		}
	}
	return left
}

func (c *chaos) judge() {
	c.t.Helper()
	if raw, err := os.ReadFile(filepath.Join(c.traces, "doubles")); err == nil {
		c.t.Errorf("agents ran twice at once: %q", raw)
	}
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(c.must("ps", "-j")), &ps); err != nil {
		c.t.Fatal(err)
	}
	for _, a := range ps.Agents {
		if a.Wanted != keeper.Running || a.Actual != keeper.Running {
			c.t.Errorf("%+v", a)
		}
	}
	records := c.records()
	read, unsure := 0, 0
	for text, agent := range c.accepted {
		got, _ := os.ReadFile(filepath.Join(c.traces, agent+".got"))
		switch n := strings.Count(string(got), text+"\n"); {
		case n == 1:
			read++
		case n > 1:
			c.t.Errorf("%s was read %d times by %s", text, n, agent)
		case records[text].State == "sent" || records[text].State == "failed":
			unsure++
			c.t.Logf("%s: %s", text, records[text].Reason)
		default:
			c.t.Errorf("%s is lost: the keeper says %+v", text, records[text])
		}
	}
	next := uint64(1)
	for line := range strings.Lines(c.must("agent", "logs", "-j")) {
		var e keeper.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != next {
			c.t.Fatalf("event %d: %s %v", next, line, err)
		}
		next++
	}
	starts, _ := os.ReadFile(filepath.Join(c.traces, "starts"))
	c.t.Logf("%d starts, %d nudges: %d read, %d of which the keeper could not be sure; %d events", strings.Count(string(starts), "\n"), len(c.accepted), read, unsure, next-1)
}
