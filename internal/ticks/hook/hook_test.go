package hook_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/remote"
	"den/internal/agent/runner/remote/holder"
	"den/internal/place/provider"
	place "den/internal/place/provider/local"
	"den/internal/testkit/spawntest"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/hook"
)

// The test binary is den, as far as it is needed where processes are spawned.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == holder.Verb {
		os.Exit(holder.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// spawners are the places where hooks run: this machine, and one that is
// reached by a provider's Exec, as a container is.
func spawners(t *testing.T) map[string]runner.Spawner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]runner.Spawner{
		"here": local.Spawner{Mark: t.Name()},
		"by exec": remote.Spawner{
			Exec: func(ctx context.Context, e provider.ExecSpec) (int, error) {
				return place.Place{}.Exec(ctx, "w", provider.Config{}, e)
			},
			Den: self, Mark: t.Name(),
		},
	}
}

func repository(t *testing.T) *datarepo.Repo {
	t.Helper()
	r, err := datarepo.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}

// script adds a file to a phase's directory.
func script(t *testing.T, r *datarepo.Repo, p hook.Phase, name, body string, mode os.FileMode) {
	t.Helper()
	syscall.ForkLock.RLock() // a child of another test, just being started, must not have a script open that is run
	defer syscall.ForkLock.RUnlock()
	dir := filepath.Join(r.Path(), "system/hooks", string(p))
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), mode)); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	r := repository(t)
	if names, problems := hook.List(r, hook.PreTick); len(names) != 0 || len(problems) != 0 {
		t.Errorf("%v, %v", names, problems)
	}
	for name, mode := range map[string]os.FileMode{"20-b": 0o755, "10-a": 0o700, ".hidden": 0o755, "old~": 0o755, "readme": 0o644, "for-others": 0o645} {
		script(t, r, hook.PreTick, name, ":", mode)
	}
	dir := filepath.Join(r.Path(), "system/hooks/pre-tick")
	outside := filepath.Join(t.TempDir(), "theirs")
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "30-dir"), 0o755),
		syscall.Mkfifo(filepath.Join(dir, "31-pipe"), 0o755),
		os.Symlink("10-a", filepath.Join(dir, "40-link")),
		os.WriteFile(outside, nil, 0o755),
		os.Symlink(outside, filepath.Join(dir, "50-out")),
	); err != nil {
		t.Fatal(err)
	}
	names, problems := hook.List(r, hook.PreTick)
	if want := []string{"10-a", "20-b", "40-link", "for-others"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "50-out") {
		t.Errorf("%v", problems)
	}
}

func TestEnv(t *testing.T) {
	e := hook.Event{Prefix: "BOT", Tick: 7, LastMessage: strings.Repeat("ä", 3000), SessionID: "s\x00id", Duration: 12340 * time.Millisecond, Log: "/d/tick-007.jsonl", Reason: "limit"}
	for phase, want := range map[hook.Phase]map[string]string{
		hook.PreTick: {"DATA_DIR": "/d", "BOT_TICK": "7"},
		hook.PreStop: {"DATA_DIR": "/d", "BOT_TICK": "7", "BOT_LAST_MESSAGE": strings.Repeat("ä", 2000), "BOT_SESSION_ID": "sid"},
		hook.PostTick: {
			"DATA_DIR": "/d", "BOT_TICK": "7", "BOT_LAST_MESSAGE": strings.Repeat("ä", 2000), "BOT_SESSION_ID": "sid",
			"BOT_TICK_DURATION": "12.3", "BOT_TICK_LOG": "/d/tick-007.jsonl", "BOT_TICK_STATUS": "abnormal", "BOT_TICK_REASON": "limit",
		},
	} {
		e.Phase = phase
		if got := e.Env("/d"); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", phase, got, want)
		}
	}
	e.Normal = true
	if got := e.Env("/d")["BOT_TICK_STATUS"]; e.Phase == hook.PostTick && got != "normal" {
		t.Errorf("%s", got)
	}
}

// Hooks run in order, in the sandbox, with their variables; one that fails does
// not keep the others from running.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, spawn := range spawners(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := repository(t)
			script(t, r, hook.PostTick, "1", `echo "$DATA_DIR $BOT_TICK $BOT_TICK_STATUS"; pwd; cat`, 0o755)
			script(t, r, hook.PostTick, "2", `echo no >&2; exit 3`, 0o755)
			script(t, r, hook.PostTick, "3", `echo "$BOT_LAST_MESSAGE"`, 0o755)
			if err := os.WriteFile(filepath.Join(r.Path(), "system/hooks/post-tick/4"), []byte("no interpreter\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			results, problems := hook.Runner{Files: r, Spawn: spawn}.Run(t.Context(), hook.Event{Phase: hook.PostTick, Prefix: "BOT", Tick: 7, LastMessage: "done 'x'\n$y", Normal: true})
			if len(problems) != 0 || len(results) != 4 {
				t.Fatalf("%+v, %v", results, problems)
			}
			if want := r.Path() + " 7 normal\n" + r.Path() + "/sandbox\n"; results[0].Stdout != want || results[0].Failure() != "" {
				t.Errorf("%+v, want %q", results[0], want)
			}
			if got := results[1].Failure(); got != "hook 2: exit code 3: no" {
				t.Errorf("%q", got)
			}
			if results[2].Stdout != "done 'x'\n$y\n" {
				t.Errorf("%+v", results[2])
			}
			if got := results[3].Failure(); got == "" { // no interpreter is named, or what it says is no command
				t.Error("a text was run")
			}
		})
	}
}

// Variables are on no command line.
func TestVariablesAreOnNoCommandLine(t *testing.T) {
	t.Parallel()
	for name, spawn := range spawners(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := repository(t)
			seen := filepath.Join(r.Path(), "sandbox", "seen")
			script(t, r, hook.PreStop, "1", `cat /proc/[0-9]*/cmdline >"`+seen+`" 2>/dev/null || :; test -n "$A_LAST_MESSAGE"`, 0o755)
			results, problems := hook.Runner{Files: r, Spawn: spawn}.Run(t.Context(), hook.Event{Phase: hook.PreStop, Prefix: "A", LastMessage: "hush-9c1e7d"})
			if len(problems) != 0 || len(results) != 1 || results[0].Failure() != "" {
				t.Fatalf("%+v, %v", results, problems)
			}
			spawntest.OfThisMachine(t) // skips where there is no /proc
			lines, err := os.ReadFile(seen)
			if err != nil || strings.Contains(string(lines), "hush-9c1e7d") || !strings.Contains(string(lines), "pre-stop/1") {
				t.Errorf("%v; the variable is on a command line, or the hook on none", err)
			}
		})
	}
}

func TestIssues(t *testing.T) {
	t.Parallel()
	r := repository(t)
	script(t, r, hook.PreStop, "1", `echo; echo "  commit your work  "; echo "second"`, 0o755)
	script(t, r, hook.PreStop, "2", `echo "of a broken hook"; exit 1`, 0o755)
	script(t, r, hook.PreStop, "3", `echo third; echo no issue >&2`, 0o755)
	results, _ := hook.Runner{Files: r, Spawn: local.Spawner{Mark: t.Name()}}.Run(t.Context(), hook.Event{Phase: hook.PreStop})
	if got, want := hook.Issues(results), []string{"commit your work", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var flood hook.Result
	flood.Stdout = strings.Repeat("x\n", 1000) + strings.Repeat("ö", 5000)
	if got := hook.Issues([]hook.Result{flood}); len(got) != 101 || got[100] != "(901 more)" {
		t.Errorf("%d issues, the last is %q", len(got), got[len(got)-1])
	}
	for what, failed := range map[string]hook.Result{"not run": {Err: errors.New("x")}, "too slow": {}} {
		failed.Stdout, failed.TimedOut = "issue", what == "too slow"
		if got := hook.Issues([]hook.Result{failed}); len(got) != 0 {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// When the tick is cancelled the running hook ends and the others do not start.
func TestContextEndsHooks(t *testing.T) {
	t.Parallel()
	r := repository(t)
	script(t, r, hook.PreTick, "1", `: >started; sleep 1000`, 0o755)
	script(t, r, hook.PreTick, "2", `: >second`, 0o755)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(r.Path(), "sandbox/started")); err == nil || ctx.Err() != nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	results, _ := hook.Runner{Files: r, Spawn: local.Spawner{Mark: t.Name()}}.Run(ctx, hook.Event{Phase: hook.PreTick})
	if len(results) != 2 || !errors.Is(results[0].Err, context.Canceled) || !errors.Is(results[1].Err, context.Canceled) {
		t.Errorf("%+v", results)
	}
	if _, err := os.Stat(filepath.Join(r.Path(), "sandbox/second")); err == nil {
		t.Error("the second hook ran")
	}
}

// A hook is recorded before it is started, and one that was started before a
// kill is not started again.
func TestStartingAndSkip(t *testing.T) {
	t.Parallel()
	r := repository(t)
	for _, name := range []string{"1", "2", "3"} {
		script(t, r, hook.PostTick, name, `echo "$0" >>log`, 0o755)
	}
	var begun []string
	results, _ := hook.Runner{Files: r, Spawn: local.Spawner{Mark: t.Name()}, Skip: []string{"1"}, Starting: func(name string) {
		ran, _ := os.ReadFile(filepath.Join(r.Path(), "sandbox/log")) // none before the first
		if begun = append(begun, name); strings.Contains(string(ran), name+"\n") {
			t.Errorf("%s ran before it was told", name)
		}
	}}.Run(t.Context(), hook.Event{Phase: hook.PostTick})
	if !slices.Equal(begun, []string{"2", "3"}) || len(results) != 2 || results[0].Failure() != "" || results[1].Failure() != "" {
		t.Errorf("%v, %+v", begun, results)
	}
	ran, err := os.ReadFile(filepath.Join(r.Path(), "sandbox/log"))
	if err != nil || strings.Count(string(ran), "\n") != 2 || !strings.HasSuffix(string(ran), "post-tick/3\n") {
		t.Errorf("%q, %v", ran, err)
	}
}

func TestLimits(t *testing.T) {
	for phase, want := range map[hook.Phase]time.Duration{hook.PreTick: time.Minute, hook.PreStop: 30 * time.Second, hook.PostTick: time.Minute} {
		if got := phase.Limit(); got != want {
			t.Errorf("%s: %s, want %s", phase, got, want)
		}
	}
}
