package acceptance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

var update = flag.Bool("update", false, "write the golden files anew")

// realAgent is a coding agent from npm and what it is like in a terminal.
type realAgent struct {
	name  string
	home  func(t *testing.T, stub *modelstub.Server) *realcli.Home
	calls []string // whom it calls whatever it is told; nobody answers
	args  []string // of its command, in the place of the preset's; nil for these

	approval string // of the preset; "" for the default
}

var realAgents = []realAgent{
	{
		name: "claude",
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Claude(t, stub) },
	},
	{
		name:  "codex",
		home:  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "") },
		calls: []string{"raw.githubusercontent.com:443"}, // the news of the day
	},
	{
		name: "opencode",
		home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.OpenCode(t, stub) },
	},
}

// Real coding agents, as npm has them, are kept by a keeper against a model on
// loopback: what they ask when they come up is answered, they are known to be
// ready, a nudge reaches the model, its answer is on the screen, and nothing of
// them is left at the end. 'make test-agents' installs them.
func TestRealAgents(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range realAgents {
		t.Run(a.name, func(t *testing.T) {
			stub := modelstub.Start(t)
			stub.Always(modelstub.Contains("ping"), modelstub.Say("pong ", "from the stub"))
			k := keepAgent(t, a, a.home(t, stub))
			k.do("up", "--wait", "-t", "2m")
			// On a loaded machine the screen may show it too late to be confirmed;
			// that it came is seen below.
			if out := k.do("agent", "nudge", a.name, "ping please", "-t", "3m"); !strings.Contains(out, "taken") && !strings.Contains(out, "sent") {
				t.Errorf("the nudge: %s%s", out, k.do("agent", "peek", a.name))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if _, err := stub.Await(ctx, modelstub.Is("ping please")); err != nil {
				t.Fatalf("%v\n%s", err, k.screen())
			}
			k.showsGolden()
			t.Logf("what the keeper did:\n%s", k.do("agent", "logs", a.name))
			k.do("down", "-t", "1m")
			k.leavesNothing()
			for _, host := range stub.Elsewhere() {
				if !slices.Contains(a.calls, host) {
					t.Errorf("it called %s", host)
				}
			}
		})
	}
}

// kept is a workspace with one agent in a home of its own.
type kept struct {
	*world
	agent     string
	agentHome *realcli.Home
	file      string // the workspace's
}

func keepAgent(t *testing.T, a realAgent, h *realcli.Home) *kept {
	t.Helper()
	return keepWorkspace(t, a.name, h, agentConfig(a, h))
}

// keepWorkspace makes a workspace of this text, in which the agent is.
func keepWorkspace(t *testing.T, agent string, h *realcli.Home, config string) *kept {
	t.Helper()
	w := newWorld(t)
	own := slices.DeleteFunc(w.env, func(kv string) bool { return !strings.HasPrefix(kv, "DEN_") && !strings.HasPrefix(kv, "GORACE=") })
	w.env = append(slices.Clone(h.Env), own...)
	dend, err := exec.LookPath("dend") // a file of that name: it runs itself again as harnesses
	if err != nil {
		t.Fatal(err)
	}
	w.denAsFile()
	initRepository(t, h.Work)
	file := filepath.Join(t.TempDir(), "den.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "DEN_DEND="+dend, "DEN_WORKSPACE="+file)
	k := &kept{world: w, agent: agent, agentHome: h, file: file}
	t.Cleanup(func() {
		if t.Failed() {
			logs, _, _ := k.try("agent", "logs", agent)
			t.Logf("what the keeper did:\n%s\nthe screen:\n%s", logs, k.screen())
		}
		k.try("down", "-t", "30s") // mostly it is down already
	})
	return k
}

// agentConfig is a den.toml with one agent of a preset.
func agentConfig(a realAgent, h *realcli.Home) string {
	return "[workspace]\nname = \"w\"\n\n" + agentTable(a, h)
}

// agentTable is the agent's part of it.
func agentTable(a realAgent, h *realcli.Home) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[agents]]\nname = %q\nprovider = %q\ndir = %q\n", a.name, a.name, h.Work)
	if a.approval != "" {
		fmt.Fprintf(&b, "approval = %q\n", a.approval)
	}
	if a.args != nil {
		words := []string{strconv.Quote(a.name)}
		for _, arg := range a.args {
			words = append(words, strconv.Quote(arg))
		}
		fmt.Fprintf(&b, "start_command = [%s]\n", strings.Join(words, ", "))
	}
	writeEnv(&b, h)
	return b.String()
}

// writeEnv writes the agent's environment, as the last table of an agent: a
// session has little of the keeper's own. The last value of a variable counts.
func writeEnv(b *strings.Builder, h *realcli.Home) {
	b.WriteString("[agents.env]\n")
	written := map[string]bool{}
	for _, kv := range h.Env {
		key, _, _ := strings.Cut(kv, "=")
		if !written[key] {
			fmt.Fprintf(b, "%s = %q\n", key, h.Getenv(key))
		}
		written[key] = true
	}
}

// initRepository makes one: some agents ask whether to trust a folder only then.
func initRepository(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
}

// screen is the agent's, without what differs between two runs.
func (k *kept) screen() string {
	out, errOut, code := k.try("agent", "peek", k.agent, "-n", "60")
	if code != 0 {
		return errOut
	}
	return normal(out, k.agentHome)
}

// differs are the parts of screens that are of the day.
var differs = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\bv?\d+\.\d+\.\d+\b`), "VERSION"},
	{regexp.MustCompile(`\b\d{1,2}:\d{2}( [AP]M)?`), "TIME"},
	{regexp.MustCompile(`✻ \S+ for \S+`), "✻ WORKED for SECONDS"},
	{regexp.MustCompile(`Worked for \S+`), "Worked for SECONDS"},
	{regexp.MustCompile(`· \d+(\.\d+)?m?s$`), "· SECONDS"},
	{regexp.MustCompile(` · ← for agents|← for agents · | +⚠ .*`), ""}, // hints that pass, and warnings about the machine
	{regexp.MustCompile(`(\S) {3,}`), "$1  "},                          // what is right-aligned moves with the length of paths
}

// passing are lines that come and go by themselves: hints and tips.
var passing = regexp.MustCompile(`/effort$|● Tip |scroll with`)

func normal(screen string, h *realcli.Home) string {
	screen = strings.NewReplacer(h.Work, "$WORK", h.Dir, "$HOME", "\u00a0", " ").Replace(screen)
	var lines []string
	for line := range strings.Lines(screen) {
		line = strings.TrimRight(line, " \n")
		for _, d := range differs {
			line = d.what.ReplaceAllString(line, d.with)
		}
		blank := line == "" && (len(lines) == 0 || lines[len(lines)-1] == "")
		if !blank && !passing.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// showsGolden waits until the screen is the one that is kept.
func (k *kept) showsGolden() {
	k.t.Helper()
	path := filepath.Join("testdata", "agents", k.agent+".golden")
	if *update {
		k.keepGolden(path)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		k.t.Fatal(err)
	}
	var got string
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(50 * time.Millisecond) {
		if got = k.screen(); got == string(want) {
			return
		}
	}
	k.t.Errorf("the screen is\n%s\nwant\n%s\n(-update keeps it)", got, want)
}

// keepGolden keeps a screen that has the answer and stays as it is.
func (k *kept) keepGolden(path string) {
	k.t.Helper()
	const still = 3 * time.Second
	last, since := "", time.Now()
	for begun := time.Now(); time.Since(since) < still || !strings.Contains(last, "pong from the stub"); time.Sleep(50 * time.Millisecond) {
		if got := k.screen(); got != last {
			last, since = got, time.Now()
		}
		if time.Since(begun) > time.Minute {
			k.t.Fatalf("the screen does not settle:\n%s", last)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(last), 0o644); err != nil {
		k.t.Fatal(err)
	}
}

// leavesNothing waits for the end of all that lived in the agent's home. The
// keeper itself ends a moment after it has said that all is down.
func (k *kept) leavesNothing() {
	k.t.Helper()
	var left []string
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		if left = processesOf(k.agentHome); len(left) == 0 {
			return
		}
	}
	k.t.Errorf("after down there are still %q", left)
}

// processesOf finds what lives on in an agent's home, by its environment.
func processesOf(h *realcli.Home) []string {
	var left []string
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(env), "HOME="+h.Dir+"\x00") {
			continue // it has ended, or is somebody else's
		}
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err == nil && len(cmdline) > 0 {
			left = append(left, strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return left
}
