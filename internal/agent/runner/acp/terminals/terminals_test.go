package terminals_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/acp/terminals"
	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
)

// den is the binary whose hosts the tests run.
var den string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-at-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // Best effort: a temporary directory.
	os.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func newTerminals(t *testing.T) *terminals.Terminals {
	t.Helper()
	return &terminals.Terminals{
		Home:  home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true},
		Agent: "coder", Mark: "mind-1", Env: os.Environ(), Options: session.Options{Version: "test", Binary: den},
	}
}

func create(t *testing.T, all *terminals.Terminals, spec acp.TerminalSpec) string {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	id, err := all.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := all.Release(context.Background(), id); err != nil && fault.KindOf(err) != fault.NotFound {
			t.Error(err)
		}
	})
	return id
}

// A command runs in its directory with its variables, its output is what a
// person would read, and a recording of it stays.
func TestCommand(t *testing.T) {
	t.Parallel()
	all, dir := newTerminals(t), t.TempDir()
	id := create(t, all, acp.TerminalSpec{
		Argv: []string{"sh", "-c", `pwd; echo "$GIVEN"; printf '\033[31mred\033[0m\n'; printf 'x%.0s' $(seq 300); echo; exit 3`},
		Dir:  dir, Env: map[string]string{"GIVEN": "value"},
	})
	exit, err := all.Wait(t.Context(), id)
	if err != nil || exit != (acp.TerminalExit{Code: 3}) {
		t.Errorf("%+v, %v", exit, err)
	}
	out, err := all.Output(t.Context(), id)
	if want := dir + "\nvalue\nred\n" + strings.Repeat("x", 300); err != nil || out.Text != want || out.Truncated || out.Exit == nil || out.Exit.Code != 3 {
		t.Errorf("%+v, %v; want %q", out, err, want)
	}
	if err := all.Release(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, err := all.Output(t.Context(), id); fault.KindOf(err) != fault.NotFound {
		t.Errorf("after its release: %v", err)
	}
	m, err := all.Home.Dir(id).Load()
	if err != nil || m.Labels[terminals.AgentLabel] != "coder" || !strings.HasPrefix(m.Name, "coder-") {
		t.Errorf("its record: %+v, %v", m, err)
	}
}

// What a process that was killed left running is ended by the next one of the
// same agent, and by no other.
func TestEndLeft(t *testing.T) {
	t.Parallel()
	killed := newTerminals(t)
	sibling := &terminals.Terminals{Home: killed.Home, Agent: "coder", Mark: "mind-2", Env: killed.Env, Options: killed.Options}
	left, other := create(t, killed, acp.TerminalSpec{Argv: []string{"sleep", "1000"}}), create(t, sibling, acp.TerminalSpec{Argv: []string{"sleep", "1000"}})
	running := func(id string) bool {
		t.Helper()
		m, err := killed.Home.Dir(id).Inspect()
		if err != nil {
			t.Fatal(err)
		}
		return m.Status.Active()
	}
	if !running(left) || !running(other) {
		t.Fatal("nothing to end")
	}
	next := &terminals.Terminals{Home: killed.Home, Agent: "coder", Mark: "mind-1", Env: killed.Env, Options: killed.Options}
	if err := next.EndLeft(t.Context()); err != nil {
		t.Fatal(err)
	}
	if running(left) || !running(other) {
		t.Errorf("its own runs: %v, another's: %v", running(left), running(other))
	}
}

// The commands are known for the agent's: what must not come from an agent is
// refused to them.
func TestMark(t *testing.T) {
	t.Parallel()
	all := newTerminals(t)
	id := create(t, all, acp.TerminalSpec{Argv: []string{"sh", "-c", `echo "mark $` + home.RunnerMark + `"`}})
	if _, err := all.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if out, err := all.Output(t.Context(), id); err != nil || out.Text != "mark mind-1" {
		t.Errorf("%+v, %v", out, err)
	}
}

// What a command prints changes its progress, and nothing else does.
func TestProgress(t *testing.T) {
	t.Parallel()
	all := newTerminals(t)
	next := filepath.Join(t.TempDir(), "next")
	id := create(t, all, acp.TerminalSpec{Argv: []string{"sh", "-c", `echo one; until [ -e ` + next + ` ]; do sleep 0.01; done; echo two; exec sleep 1000`}})
	printed := func(text string) string {
		t.Helper()
		for {
			out, err := all.Output(t.Context(), id)
			if err != nil || out.Exit != nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if strings.HasSuffix(out.Text, text) {
				return all.Progress(id)
			}
		}
	}
	first := printed("one")
	if first == "" || all.Progress(id) != first {
		t.Errorf("%q became %q", first, all.Progress(id))
	}
	if err := os.WriteFile(next, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if second := printed("two"); second == first {
		t.Errorf("still %q", second)
	}
}

// A command that goes on is read meanwhile, limited to the end of its output,
// and ended.
func TestKill(t *testing.T) {
	t.Parallel()
	all := newTerminals(t)
	id := create(t, all, acp.TerminalSpec{Argv: []string{"sh", "-c", `seq 1000; echo done; exec sleep 1000`}, OutputLimit: 10})
	for {
		out, err := all.Output(t.Context(), id)
		if err != nil || out.Exit != nil {
			t.Fatalf("%+v, %v", out, err)
		}
		if strings.HasSuffix(out.Text, "done") {
			if out.Text != "\n1000\ndone" || !out.Truncated {
				t.Errorf("%+v", out)
			}
			break
		}
	}
	if err := all.Kill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	exit, err := all.Wait(t.Context(), id)
	if err != nil || exit.Signal == "" {
		t.Errorf("%+v, %v", exit, err)
	}
	if out, err := all.Output(t.Context(), id); err != nil || out.Exit == nil || !strings.HasSuffix(out.Text, "done") {
		t.Errorf("after the end: %+v, %v", out, err)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	all := newTerminals(t)
	if id, err := all.Create(t.Context(), acp.TerminalSpec{Argv: []string{"/nonexistent"}, Dir: "/"}); err == nil {
		t.Errorf("made %s", id)
	}
	if _, err := all.Wait(t.Context(), "nothing"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// The commands of an agent in a sandbox are in it, too.
func TestWrap(t *testing.T) {
	t.Parallel()
	all := newTerminals(t)
	all.Wrap = func(argv []string) []string { return append([]string{"env", "WRAPPED=yes"}, argv...) }
	id := create(t, all, acp.TerminalSpec{Argv: []string{"sh", "-c", `echo "$WRAPPED $DEN_SANDBOX_ENV"`}, Env: map[string]string{"GIVEN": "x"}})
	if _, err := all.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if out, err := all.Output(t.Context(), id); err != nil || out.Text != "yes GIVEN" {
		t.Errorf("%+v, %v", out, err)
	}
}
