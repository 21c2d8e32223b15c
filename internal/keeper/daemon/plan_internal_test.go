package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/keeper/controller"
	"den/internal/place/decisive"
	"den/internal/place/workspace"
	"den/internal/session/home"
)

// planned is a keeper that has read its workspace and keeps nothing yet.
func planned(t *testing.T, file string) *daemon {
	t.Helper()
	return plannedIn(t, t.TempDir(), file)
}

// plannedIn is planned for the keeper of a directory that may have had others.
func plannedIn(t *testing.T, dir, file string) *daemon {
	t.Helper()
	p, err := keeper.At(filepath.Join(dir, "den.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Make(); err != nil {
		t.Fatal(err)
	}
	getenv := environment.Getter([]string{"XDG_STATE_HOME=" + dir, "DEN_RUN_DIR=" + filepath.Join(dir, "run")})
	root := home.Home{Path: filepath.Join(dir, "home"), Explicit: true}
	reg, err := p.Establish(keeper.Caller{Home: root, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.Open(controller.Options{State: p.State(), Events: p.Events()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	self, err := os.Executable() // nothing is started
	if err != nil {
		t.Fatal(err)
	}
	d := newDaemon(site{state: p, registration: reg, home: root, den: self, getenv: getenv}, nil, c, false, nil)
	t.Cleanup(d.providers.close)
	rewrite(t, d, file)
	if err := d.load(false); err != nil {
		t.Fatal(err)
	}
	return d
}

func rewrite(t *testing.T, d *daemon, file string) {
	t.Helper()
	if err := os.WriteFile(d.state.Config, []byte("[workspace]\nname = \"w\"\n"+file), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(d *daemon) string {
	var all []string
	for _, s := range d.ps("").Agents {
		if s.Wanted == keeper.Running {
			all = append(all, s.Name)
		}
	}
	return strings.Join(all, " ")
}

func eventTypes(t *testing.T, d *daemon) []string {
	t.Helper()
	var all []string
	if err := d.controller.Events(t.Context(), 0, "", false, func(e keeper.Event) error { all = append(all, e.Type); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

const pool = "[[agents]]\nname = \"p\"\nstart_command = \"cat\"\npool = { min = 1, max = 4, check = \"echo 3\" }\n"

// A check's answer is for the workspace as it is when it comes: one that was
// replaced meanwhile does not return.
func TestResizeTakesTheNewestFile(t *testing.T) {
	d := planned(t, pool)
	if got := names(d); got != "p-1" {
		t.Fatalf("at first %s", got)
	}
	asked := d.askPools(t.Context(), d.plan.now().workspace)
	rewrite(t, d, pool+"[[agents]]\nname = \"new\"\nstart_command = \"cat\"\n")
	if err := d.load(false); err != nil {
		t.Fatal(err)
	}
	if err := d.resize(asked); err != nil {
		t.Fatal(err)
	}
	if got := names(d); got != "new p-1 p-2 p-3" {
		t.Errorf("then %s", got)
	}
	if err := d.resize(map[string]int{"p": 99, "gone": 2}); err != nil {
		t.Fatal(err)
	}
	if got := names(d); got != "new p-1 p-2 p-3 p-4" {
		t.Errorf("above its most: %s", got)
	}
	want := []string{keeper.EventReloaded, keeper.EventScaled, keeper.EventScaled}
	if got := eventTypes(t, d); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// A bad file changes nothing, is told once, and is forgotten when it is mended.
func TestBadFileChangesNothing(t *testing.T) {
	d := planned(t, pool)
	rewrite(t, d, "nonsense = 1\n")
	for range 2 {
		if err := d.load(false); fault.KindOf(err) != fault.Usage {
			t.Fatalf("%v", err)
		}
	}
	if ps := d.ps(""); !strings.Contains(ps.Problem, "nonsense") || names(d) != "p-1" {
		t.Errorf("%+v", ps)
	}
	rewrite(t, d, pool)
	if err := d.load(false); err != nil || d.ps("").Problem != "" {
		t.Errorf("mended: %v, %q", err, d.ps("").Problem)
	}
	if got := eventTypes(t, d); !slices.Equal(got, []string{keeper.EventRefused, keeper.EventReloaded}) {
		t.Errorf("events %v", got)
	}
}

func TestFind(t *testing.T) {
	d := planned(t, pool+"[[agents]]\nname = \"a\"\ndir = \"x\"\nstart_command = \"cat\"\n[[agents]]\nname = \"a\"\ndir = \"y\"\nstart_command = \"cat\"\n[[agents]]\nname = \"b\"\ndir = \"y\"\nstart_command = \"cat\"\n")
	for name, want := range map[string]string{"x/a": "x/a", "b": "y/b", "y/b": "y/b", "p-1": "p-1"} {
		if m, err := d.find(name); err != nil || m.Name() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{"a": "say which: x/a, y/a", "p": "'p' is a pool; its agents are called p-1", "zz": "'den ps' lists them"} {
		if _, err := d.find(name); !strings.Contains(fault.HintOf(err), want) {
			t.Errorf("%s: %v, hint %q", name, err, fault.HintOf(err))
		}
	}
}

func TestPolicy(t *testing.T) {
	d := planned(t, "[keeper]\nshutdown_timeout = \"9s\"\n[defaults]\nstall_timeout = \"3m\"\nstall_restart = true\ndrain_timeout = \"4m\"\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n"+pool)
	single, err := d.plan.now().workspace.Agent("a")
	if err != nil {
		t.Fatal(err)
	}
	p := policy(d.plan.now().workspace, single)
	if !p.StallRestart || p.StallTimeout != 3*time.Minute || p.DrainTimeout != 4*time.Minute {
		t.Errorf("%+v", p)
	}
	many, err := d.plan.now().workspace.Agent("p-1")
	if err != nil {
		t.Fatal(err)
	}
	if p := policy(d.plan.now().workspace, many); p.DrainTimeout != 5*time.Minute {
		t.Errorf("a pool's own: %v", p.DrainTimeout)
	}
}

// An agent that comes after a pool comes after all that are wanted of it.
func TestDependsOnPool(t *testing.T) {
	d := planned(t, pool+"[[agents]]\nname = \"last\"\nstart_command = \"cat\"\ndepends_on = [\"p\"]\n")
	plan, _, err := d.newDraft(d.plan.now().workspace).plan(map[string]int{"p": 2}, d.keysOf)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(plan, func(m controller.Member) bool { return m.Subject.Name() == "last" })
	if got := plan[at].After; !slices.Equal(got, []string{"p-1", "p-2"}) {
		t.Errorf("after %v", got)
	}
}

func TestCount(t *testing.T) {
	dir := t.TempDir()
	ask := func(check string, limit time.Duration) (int, error) {
		return count(t.Context(), &workspace.Agent{Name: "p", Dir: dir, Env: workspace.Environment{Values: workspace.Env{"N": "2"}}, Pool: &workspace.Pool{Min: 1, Max: 4, Check: check, CheckTimeout: limit}}, os.Environ())
	}
	for check, want := range map[string]int{"": 1, "echo 3": 3, "echo $N": 2, "echo 0": 1, "echo 99": 4, "printf ' 2 \n'": 2, "pwd >&2; echo 2": 2} {
		if n, err := ask(check, time.Minute); err != nil || n != want {
			t.Errorf("%q: %d, %v", check, n, err)
		}
	}
	for check, want := range map[string]string{"echo many": `printed "many"`, "echo why >&2; exit 3": "exit status 3: why", "true": `printed ""`} {
		if _, err := ask(check, time.Minute); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", check, err)
		}
	}
	if _, err := ask("echo 1; sleep 1000", 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Error(err)
	}
}

// agentsCalled is a file with agents of these names.
func agentsCalled(names ...string) string {
	file := ""
	for _, name := range names {
		file += "[[agents]]\nname = \"" + name + "\"\nstart_command = \"cat\"\n"
	}
	return file
}

// A file that would end more than half of the agents at once waits for
// somebody's word; an empty one is no file.
func TestFileThatEndsManyIsHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after []string
		held          bool
	}{
		"a half":             {[]string{"a", "b", "c", "d"}, []string{"a", "b"}, false},
		"more than a half":   {[]string{"a", "b", "c", "d"}, []string{"a"}, true},
		"others instead":     {[]string{"a", "b", "c"}, []string{"x", "y", "z"}, true},
		"all":                {[]string{"a", "b"}, nil, true},
		"the only one":       {[]string{"a"}, nil, true},
		"the only, renamed":  {[]string{"a"}, []string{"b"}, false},
		"more, and none out": {[]string{"a"}, []string{"a", "b", "c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := planned(t, agentsCalled(tt.before...))
			rewrite(t, d, agentsCalled(tt.after...))
			err := d.load(false)
			if !tt.held {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if again := d.load(false); fault.KindOf(err) != fault.Denied || fault.KindOf(again) != fault.Denied {
				t.Fatalf("%v, %v", err, again)
			}
			if names(d) != strings.Join(tt.before, " ") || !strings.HasPrefix(d.ps("").Problem, "held: ") {
				t.Errorf("%s run, %q", names(d), d.ps("").Problem)
			}
			if got := eventTypes(t, d); !slices.Equal(got, []string{keeper.EventHeld}) {
				t.Errorf("events %v", got)
			}
			if err := d.load(true); err != nil || d.ps("").Problem != "" || names(d) != strings.Join(tt.after, " ") {
				t.Errorf("confirmed: %v, %q, %s run", err, d.ps("").Problem, names(d))
			}
		})
	}
	d := planned(t, agentsCalled("a"))
	if err := os.WriteFile(d.state.Config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.load(true); fault.KindOf(err) != fault.Usage || names(d) != "a" {
		t.Errorf("an empty file: %v, %s run", err, names(d))
	}
}

// A pool that cannot be asked is told of once, and again when it is for
// another reason or after it worked.
func TestCheckFailedIsToldOnce(t *testing.T) {
	d := planned(t, pool)
	for _, why := range []string{"x", "x", "y", "y", "", "y", "y"} {
		d.checks.note("p", why)
	}
	if got := eventTypes(t, d); len(got) != 3 {
		t.Errorf("events %v", got)
	}
}

// Another text in a prompt file is another agent, and the file is watched.
func TestPromptFileIsWatched(t *testing.T) {
	dir := t.TempDir()
	prompt := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(prompt, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := planned(t, "[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nprompt_mode = \"arg\"\nprompt_template = \""+prompt+"\"\n")
	before := d.plan.now().members["a"].Fingerprint().Hash
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan struct{})
	done := make(chan struct{})
	go func() { defer close(done); d.watchWith(ctx, func() { close(watching) }) }()
	defer func() { cancel(); <-done }()
	<-watching
	changed := d.plan.now().replaced
	if err := os.WriteFile(prompt, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-changed
	if d.plan.now().members["a"].Fingerprint().Hash == before {
		t.Error("the new prompt is not in force")
	}
}

// What a changed file newly runs or allows is told: it may not have been a person
// who changed it.
func TestReloadTellsWhatIsGranted(t *testing.T) {
	const agent = "[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n"
	d := planned(t, agent)
	rewrite(t, d, agent+"pre_start = [\"touch x\"]\npermissions = [{ outcome = \"allow\", command = \"make *\" }]\n[[agents]]\nname = \"b\"\nstart_command = \"sh evil\"\n")
	if err := d.load(false); err != nil {
		t.Fatal(err)
	}
	var details []string
	if err := d.controller.Events(t.Context(), 0, "", false, func(e keeper.Event) error {
		details = append(details, fmt.Sprint(e.Detail["added"]))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"[a: touch … a: allow command 'make *' b: sh …]"}; !slices.Equal(details, want) {
		t.Errorf("%q, want %q", details, want)
	}
	if own, err := decisive.Load(d.state.Decisive()); err != nil || !slices.ContainsFunc(own, func(f decisive.File) bool { return f.Path == d.state.Config }) {
		t.Errorf("the list of decisive files: %+v, %v", own, err)
	}
}
