package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/workspace"
)

// write makes a directory with the files and returns the path of its den.toml
// or den.yaml.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	main := ""
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "den.") || len(files) == 1 {
			main = path
		}
	}
	return main
}

const everythingTOML = `
[workspace]
name = "w"
[session]
provider = "tmux"
[keeper]
patrol_interval = "10s"
shutdown_timeout = 7
max_replacing = 3
[defaults]
idle_timeout = "1h"
env = { SHARED = "1" }
[providers.claude]
args = ["--verbose"]
env = { A = "preset", B = "preset" }
[providers.mine]
command = "mine --fast"
[[agents]]
name = "one"
provider = "claude"
args = ["--model", "x"]
stall_timeout = "5m"
startup_timeout = "2m"
depends_on = ["two"]
env = { B = "agent", PORT = 80 }
[agents.pool]
min = 1
max = 3
check = "echo 2"
[agents.restart]
max_restarts = 9
[[agents]]
name = "two"
provider = "mine"
session_provider = "container"
suspended = true
copy_files = ["a.txt", { src = "b", rel_dst = "c/d" }]
container = { image = "i", memory = "512m", pids = 100, cpus = 1.5, network = "none", mounts = ["m"] }
`

const everythingYAML = `
workspace: {name: w}
session: {provider: tmux}
keeper: {patrol_interval: 10s, shutdown_timeout: 7, max_replacing: 3}
defaults:
  idle_timeout: 1h
  env: {SHARED: 1}
providers:
  claude:
    args: [--verbose]
    env: {A: preset, B: preset}
  mine:
    command: mine --fast
agents:
  - name: one
    provider: claude
    args: [--model, x]
    stall_timeout: 5m
    startup_timeout: 2m
    depends_on: [two]
    env: {B: agent, PORT: 80}
    pool: {min: 1, max: 3, check: echo 2}
    restart: {max_restarts: 9}
  - name: two
    provider: mine
    session_provider: container
    suspended: true
    copy_files: [a.txt, {src: b, rel_dst: c/d}]
    container: {image: i, memory: 512m, pids: 100, cpus: 1.5, network: none, mounts: [m]}
`

func TestBothFormatsAreOneSchema(t *testing.T) {
	for name, text := range map[string]string{"den.toml": everythingTOML, "den.yaml": everythingYAML} {
		t.Run(name, func(t *testing.T) {
			w := load(t, write(t, map[string]string{name: text}))
			if w.Session.Provider != "tmux" || w.Keeper.PatrolInterval != 10*time.Second || w.Keeper.ShutdownTimeout != 7*time.Second || w.Keeper.MaxReplacing != 3 {
				t.Errorf("%+v %+v", w.Session, w.Keeper)
			}
			checkOne(t, &w.Agents[0])
			checkTwo(t, w, &w.Agents[1])
		})
	}
}

func checkOne(t *testing.T, a *workspace.Agent) {
	t.Helper()
	if got := a.Argv(); !slices.Equal(got, []string{"claude", "--permission-mode", "default", "--verbose", "--model", "x"}) {
		t.Errorf("Argv = %q", got)
	}
	want := map[string]string{"A": "preset", "B": "agent", "PORT": "80", "SHARED": "1"}
	if len(a.Env.Values) != len(want) {
		t.Errorf("env = %v", a.Env)
	}
	for k, v := range want {
		if a.Env.Values[k] != v {
			t.Errorf("env %s = %q, want %q", k, a.Env.Values[k], v)
		}
	}
	if a.IdleTimeout != time.Hour || a.StallTimeout != 5*time.Minute || a.StartupTimeout != 2*time.Minute || a.RunsIn != "tmux" {
		t.Errorf("%+v", a)
	}
	if a.Pool == nil || a.Pool.Max != 3 || a.Pool.CheckTimeout != 10*time.Second || a.Pool.DrainTimeout != 5*time.Minute {
		t.Errorf("pool %+v", a.Pool)
	}
	if a.Restart != (workspace.Restart{Policy: workspace.RestartAlways, MaxRestarts: 9, Window: 10 * time.Minute, Backoff: time.Second, BackoffMax: time.Minute}) {
		t.Errorf("restart %+v", a.Restart)
	}
}

func checkTwo(t *testing.T, w *workspace.Workspace, a *workspace.Agent) {
	t.Helper()
	var c struct {
		Image  string           `key:"image"`
		PIDs   int              `key:"pids"`
		Mounts []workspace.Path `key:"mounts"`
	}
	problems := a.Tables.Of("container").Decode(&c)
	if c.Image != "i" || c.PIDs != 100 || !slices.Equal(c.Mounts, []workspace.Path{workspace.Path(filepath.Join(w.Dir, "m"))}) {
		t.Errorf("container %+v", c)
	}
	if len(problems) != 3 || !strings.Contains(problems.Error(), "unknown key 'memory' in container") {
		t.Errorf("keys that the struct does not have: %v", problems)
	}
	if !slices.Equal(a.StartCommand, []string{"mine", "--fast"}) || a.RunsIn != "container" || !a.Suspended {
		t.Errorf("%+v", a)
	}
	files := []workspace.CopyEntry{{Src: filepath.Join(w.Dir, "a.txt"), Dst: "a.txt"}, {Src: filepath.Join(w.Dir, "b"), Dst: "c/d"}}
	if !slices.Equal(a.Hints.CopyFiles, files) {
		t.Errorf("copy_files %+v", a.Hints.CopyFiles)
	}
}

// Every problem is told at once, with its line, and unknown keys with what
// may have been meant.
func TestProblemsComeTogether(t *testing.T) {
	path := write(t, map[string]string{"den.toml": `
[sesion]
provider = "tmux"
[[agents]]
nmae = "a"
provider = "claud"
[[agents]]
name = "b"
start_command = "x"
prompt_mode = "flag"
idle_timeout = "soon"
depends_on = ["c"]
pool = { min = 3, max = 2, ckeck = "x" }
[[agents]]
name = "../evil"
start_command = "it's"
[[agents]]
name = "b"
start_command = 3
session_provider = "tmx"
`})
	_, err := workspace.Load(path)
	if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Fatalf("err = %v (%s)", err, fault.KindOf(err))
	}
	// Unknown keys first: with them, the rest would be guesses.
	for _, want := range []string{"den.toml:2: unknown key 'sesion' in the file, did you mean 'session'?",
		"den.toml:5: unknown key 'nmae' in an agent, did you mean 'name'?", "den.toml:13: unknown key 'ckeck' in pool, did you mean 'check'?"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	var problems workspace.Problems
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Errorf("problems = %v", problems)
	}
}

func TestValidationTellsAll(t *testing.T) {
	path := write(t, map[string]string{"den.toml": `
[[agents]]
name = "a"
provider = "claud"
[[agents]]
name = "b"
start_command = "x"
prompt_mode = "flag"
idle_timeout = "soon"
depends_on = ["c"]
pool = { min = 3, max = 2 }
[[agents]]
name = "../evil"
start_command = "it's"
[[agents]]
name = "b"
start_command = 3
session_provider = "tmx"
[[agents]]
name = "p"
start_command = "x"
depends_on = ["q"]
[[agents]]
name = "q"
start_command = "x"
depends_on = ["p"]
[agents.pool]
max = 2
[[agents]]
name = "q-2"
`})
	_, err := workspace.Load(path)
	if err == nil {
		t.Fatal("it loads")
	}
	for _, want := range []string{
		"den.toml:4: no preset 'claud', did you mean 'claude'?",
		"den.toml:8: agent 'b': prompt_mode \"flag\" needs a 'prompt_flag'",
		"den.toml:9: 'idle_timeout' must be a duration",
		"den.toml:10: agent 'b' depends on 'c': no agent 'c'",
		"den.toml:11: agent 'b': the pool's 'max' (2) is below its 'min' (3)",
		"den.toml:13: agent '../evil'",
		"den.toml:14: 'start_command': a quote is not closed",
		"den.toml:16: agent 'b' is there already, at den.toml:6",
		"den.toml:17: 'start_command' must be a command line or a list of words, not the number 3",
		"den.toml:18: 'runs_in' is 'tmx'; it must be one of native, tmux, subprocess, container, kubernetes, did you mean 'tmux'?",
		"agents depend on one another in a circle: p → q → p",
		"den.toml:30: agent 'q-2' has the name of a member of pool 'q'",
		"den.toml:30: agent 'q-2' has neither 'agent' nor 'start_command'",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestSyntaxErrorsHaveLines(t *testing.T) {
	for name, text := range map[string]string{
		"den.toml": "[workspace]\nname = \"w\"\nx = = 3\n",
		"den.yaml": "workspace:\n  name: w\n x: [\n",
	} {
		_, err := workspace.Load(write(t, map[string]string{name: text}))
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), name+":3: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Dots are no parts of a key wherever they stand otherwise.
func TestDotsInTexts(t *testing.T) {
	words := strings.Repeat("a.b.c. ", 100) + strings.Repeat("x.", 100)
	for name, text := range map[string]string{
		"string":      `prompt = "` + words + `\" ` + words + `"`,
		"literal":     `prompt = '` + words + `'`,
		"long string": "prompt = \"\"\"\n" + words + "\n\"" + words + "\"\"\"\"",
		"comment":     "# " + words + "\nprompt = \"x\"",
		"list":        `args = [ "` + words + `", "` + words + `" ] # ` + words,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "den.toml")
			if err := os.WriteFile(file, []byte("[[agents]]\nname = \"a\"\nstart_command = [\"cat\"]\n"+text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := workspace.Load(file); err != nil && strings.Contains(err.Error(), "parts") {
				t.Error(err)
			}
		})
	}
}

// TestDeepKeysAreRefused has files that took gigabytes with a library that copied
// the path of a key for each of its parts.
func TestDeepKeysAreRefused(t *testing.T) {
	parts := strings.Repeat("a.", 60_000) + "a"
	quoted := func(part string) string { return strings.TrimSuffix(strings.Repeat(part+".", 40_000), ".") }
	for name, text := range map[string]string{
		"key":                    parts + " = 1",
		"spaced":                 strings.ReplaceAll(parts, ".", " . ") + " = 1",
		"quoted":                 strings.ReplaceAll(parts, "a", `"a"`) + " = 1",
		"header":                 "[" + parts + "]",
		"inline":                 "x = { " + parts + " = 1 }",
		"a mark in quotes":       quoted(`"!"`) + " = 1",
		"an equals sign":         quoted(`'='`) + " = 1",
		"a bracket":              quoted(`"]"`) + " = 1",
		"a number sign":          quoted(`"#"`) + " = 1",
		"a dot":                  quoted(`"."`) + " = 1",
		"an escaped quote":       quoted(`"\""`) + " = 1",
		"another quote":          quoted(`"'"`) + " = 1",
		"in a header":            "[" + quoted(`"]"`) + "]",
		"behind a long string":   `x = """a""""` + "\ny = { " + quoted(`"!"`) + " = 1 }",
		"in a line with strings": `x = { s = """a"""", ` + quoted(`"!"`) + " = 1 }",
		"behind a comment":       "# don't\n" + quoted(`'!'`) + " = 1",
		"nested":                 strings.Repeat("a.a.a.a={", 900) + strings.Repeat("}", 900),
		"nested in lists":        strings.Repeat("a.a.a.a=[{", 400) + strings.Repeat("}]", 400),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "den.toml")
			if err := os.WriteFile(file, []byte("\n"+text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := workspace.Load(file)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "parts") {
				t.Errorf("Load = %v, want an error about the key's parts", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
				t.Errorf("it took %d MiB", used>>20)
			}
		})
	}
}

func TestProseIsNoKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "den.toml")
	prose := strings.Repeat("One sentence, or two. ", 400) + strings.Repeat("v1.2.3 ", 200)
	if err := os.WriteFile(file, []byte("[workspace]\nname = \"w\"\n[[agents]]\nname = \"a\"\nstart_command = [\"sh\"]\nnudge = \""+prose+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.Load(file); err != nil {
		t.Error(err)
	}
}
