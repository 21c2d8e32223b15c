package agent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/screen"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/workspace"
	"den/internal/testkit/need"
)

// quick is for tests whose programs answer at once.
var quick = screen.Timing{Quiet: 200 * time.Millisecond, Patience: 5 * time.Second, Confirm: 2 * time.Second}

func queue(t *testing.T, dir string) *outbox.Queue {
	t.Helper()
	q, err := outbox.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func managed(t *testing.T, p provider.Provider, c agent.SessionConfig) *agent.Managed {
	t.Helper()
	if c.Command == nil {
		c.Command = []string{"program"}
	}
	if c.WorkDir == "" {
		c.WorkDir = t.TempDir()
	}
	m, err := agent.New(agent.Options{Workspace: "w", WorkspaceFile: "/w/den.toml", Name: "dir/a", Session: "den-w-dir--a", Provider: p, Config: c, Nudges: queue(t, t.TempDir()), Timing: quick})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func outcomes(m *agent.Managed) map[string]agent.Outcome {
	all := map[string]agent.Outcome{}
	for _, s := range m.LastStart() {
		all[s.Name] = s.Outcome
	}
	return all
}

func screenFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("conversation/screen/testdata/screens/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestStartGoesInOrder(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		dir, src := t.TempDir(), t.TempDir()
		work := filepath.Join(dir, "made")
		order := filepath.Join(dir, "order")
		overlay := filepath.Join(src, "overlay")
		if err := os.MkdirAll(overlay, 0o700); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{filepath.Join(overlay, "o"): "overlay", filepath.Join(src, "c"): "copy", filepath.Join(src, "s.sh"): `echo script $DEN_AGENT >> ` + order} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := newFake()
		p.onStart = func(s *fakeSession) {
			_, err1 := os.Stat(filepath.Join(work, "o"))
			_, err2 := os.Stat(filepath.Join(work, "c2"))
			s.screen = "> "
			if err1 != nil || err2 != nil {
				s.screen = "files are missing"
			}
		}
		m := managed(t, p, agent.SessionConfig{
			WorkDir: work, Env: values(map[string]string{"X": "1"}), Prompt: "work", PromptMode: "arg", Nudge: "go on",
			Hints: workspace.Hints{
				PreStart: []string{"mkdir -p '{{.WorkDir}}' && echo pre >> " + order}, OverlayDir: overlay,
				CopyFiles: []workspace.CopyEntry{{Src: filepath.Join(src, "c"), Dst: "c2"}}, ReadyPromptPrefix: "> ",
				SessionSetup: []string{"echo setup {{.Session}} >> " + order}, SessionSetupScript: filepath.Join(src, "s.sh"),
			},
		})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range m.LastStart() {
			got = append(got, s.Name+":"+string(s.Outcome))
		}
		want := "pre_start:done overlay:done copy_files:done create:done dialogs:skipped ready:done dialogs_again:skipped alive:done session_setup:done session_setup_script:done nudge:done"
		if strings.Join(got, " ") != want {
			t.Errorf("steps: %s", got)
		}
		data, err := os.ReadFile(order)
		if err != nil || string(data) != "pre\nsetup den-w-dir--a\nscript dir/a\n" {
			t.Errorf("order: %q, %v", data, err)
		}
		p.change("den-w-dir--a", func(s *fakeSession) {
			argv := s.config.Argv
			if len(argv) != 2 || !strings.HasPrefix(argv[1], "[w] dir/a . ") || !strings.HasSuffix(argv[1], "\n\nwork") {
				t.Errorf("argv %q", argv)
			}
			if s.config.Env["X"] != "1" || s.config.Env["DEN_AGENT"] != "dir/a" || s.config.Env["DEN_WORKSPACE"] != "/w/den.toml" || s.config.Env["DEN_WORKSPACE_NAME"] != "w" {
				t.Errorf("env %v", s.config.Env)
			}
			checkGit(t, s.config.Env)
		})
		if drift, err := m.Drift(t.Context()); err != nil || drift != nil {
			t.Errorf("drift %v, %v", drift, err)
		}
	})
}

// A script without a "#!" line is run by sh, whether or not it is executable. No
// test runs beside this one: a child of another could hold the script open, and
// what is written to cannot be executed.
func TestSetupScriptWithoutInterpreter(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o700} {
		dir := t.TempDir()
		script, out := filepath.Join(dir, "setup"), filepath.Join(dir, "out")
		if err := os.WriteFile(script, []byte("echo ran $DEN_AGENT > "+out+"\n"), mode); err != nil {
			t.Fatal(err)
		}
		p := newFake()
		m := managed(t, p, agent.SessionConfig{WorkDir: dir, Hints: workspace.Hints{SessionSetupScript: script}})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatalf("mode %o: %v", mode, err)
		}
		if data, err := os.ReadFile(out); err != nil || string(data) != "ran dir/a\n" {
			t.Errorf("mode %o: %q, %v", mode, data, err)
		}
	}
}

// claude's dialogs now default to "No": keys go to the row that says yes, and
// Enter comes when the cursor is there.
func TestDialogsAreAnswered(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.onStart = func(s *fakeSession) { s.screen = screenFile(t, "claude-first") }
		p.onKey = func(s *fakeSession, key string) {
			switch {
			case key == "Down" && strings.Contains(s.screen, "❯ No, exit"):
				s.screen = strings.NewReplacer("❯ No, exit", "  No, exit", "  Yes, I trust", "❯ Yes, I trust").Replace(s.screen)
			case key == "Up" && strings.Contains(s.screen, "❯ No (rec"):
				s.screen = strings.NewReplacer("❯ No (rec", "  No (rec", "    Yes\n", "  ❯ Yes\n").Replace(s.screen)
			case key == "Enter" && strings.Contains(s.screen, "❯ Yes, I trust"):
				s.screen = screenFile(t, "claude-after-trust")
			case key == "Enter" && strings.Contains(s.screen, "❯ Yes\n"):
				s.screen = screenFile(t, "claude-ready")
			default:
				s.exit = &provider.Exit{Code: 1} // Enter on "No, exit"
			}
		}
		m := managed(t, p, agent.SessionConfig{Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"claude"}}})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := p.called(); got != "Down Enter Up Enter" {
			t.Errorf("keys: %s", got)
		}
		if o := outcomes(m); o[agent.StepReady] != agent.Done || o[agent.StepDialogs2] != agent.Done {
			t.Errorf("%v", o)
		}
	})
}

// claude takes no Enter in a dialog's first moments, and puts the cursor back:
// the answer is given again, from where the cursor is then.
func TestADialogThatStaysIsAnsweredAgain(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.onStart = func(s *fakeSession) { s.screen = screenFile(t, "codex-git-first") }
		enters := 0
		p.onKey = func(s *fakeSession, key string) {
			down, up := "› 1. Trust and continue\n  2. Back to", "  1. Trust and continue\n› 2. Back to"
			switch {
			case key == "Enter" && strings.Contains(s.screen, down):
				if enters++; enters == 1 {
					s.screen = strings.Replace(s.screen, down, up, 1)
				} else {
					s.screen = screenFile(t, "codex-first")
				}
			case key == "Up":
				s.screen = strings.Replace(s.screen, up, down, 1)
			}
		}
		m := managed(t, p, agent.SessionConfig{Hints: workspace.Hints{ReadyPromptPrefix: "› ", ProcessNames: []string{"codex"}}})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := p.called(); got != "Enter Up Enter" {
			t.Errorf("keys: %s", got)
		}
	})
}

// A cursor that stood on the right row and was put back is moved there again.
func TestACursorThatIsPutBackIsMovedAgain(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := &flickering{fake: newFake(), no: screenFile(t, "claude-first")}
		p.yes = strings.NewReplacer("❯ No, exit", "  No, exit", "  Yes, I trust", "❯ Yes, I trust").Replace(p.no)
		p.onStart = func(s *fakeSession) { s.screen = p.yes }
		p.onKey = func(s *fakeSession, key string) {
			if s.screen = p.yes; key == "Enter" {
				s.screen = "────\n❯ \n────\n status"
			}
		}
		m := managed(t, p, agent.SessionConfig{Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"claude"}}})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := p.called(); got != "Down Enter" {
			t.Errorf("keys: %s", got)
		}
	})
}

// flickering shows a dialog with the cursor on yes, and then, once it has been
// looked at for a while, on no.
type flickering struct {
	*fake
	yes, no string
	first   time.Time // when it was first looked at
	back    bool      // the cursor was put back
}

func (f *flickering) Peek(ctx context.Context, name string, n int) (string, error) {
	f.change(name, func(s *fakeSession) {
		if f.first.IsZero() {
			f.first = time.Now()
		}
		// After a dialog has stood long enough, and before its cursor has, too.
		if !f.back && time.Since(f.first) > 340*time.Millisecond {
			s.screen, f.back = f.no, true
		}
	})
	return f.fake.Peek(ctx, name, n)
}

// A program that does not follow the arrow gets no Enter; an unknown layout
// gets nothing at all. The agent lives, and its start says what is wrong.
func TestUnknownDialogsGetNoKeys(t *testing.T) {
	for name, c := range map[string]struct{ screen, keys string }{
		"stuck cursor":   {screenFile(t, "claude-first"), "Down"},
		"unknown layout": {"Quick safety check\n ❯ No, exit\n   Maybe\n Enter to confirm", ""},
		"not expected":   {"running in Bypass Permissions mode\n ❯ 1. No, exit\n   2. Yes, I accept\n Enter to confirm", ""},
	} {
		t.Run(name, func(t *testing.T) {
			onClockOfItsOwn(t, func(t *testing.T) {
				p := newFake()
				p.onStart = func(s *fakeSession) { s.screen = c.screen }
				m := managed(t, p, agent.SessionConfig{Hints: workspace.Hints{ProcessNames: []string{"claude"}}})
				if err := m.Start(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if got := p.called(); got != c.keys {
					t.Errorf("keys: %q", got)
				}
				if o := outcomes(m); o[agent.StepDialogs] != agent.Blocked {
					t.Errorf("%v", o)
				}
				if held, err := m.Held(t.Context()); err != nil || held == "" {
					t.Errorf("held %q, %v", held, err)
				}
			})
		})
	}
}

func TestDyingAtOnceIsAFailedStart(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.onStart = func(s *fakeSession) { s.screen, s.exit = "boom: no such model", &provider.Exit{Code: 3} }
		m := managed(t, p, agent.SessionConfig{}) // not a single hint
		err := m.Start(t.Context(), nil)
		var failed *agent.StartError
		if !errors.As(err, &failed) || failed.Step().Name != agent.StepAlive || failed.Screen != "boom: no such model" {
			t.Fatalf("%v", err)
		}
		if fault.KindOf(err) != fault.NotRunning || !strings.Contains(err.Error(), "status 3") || fault.HintOf(err) == "" {
			t.Errorf("%v (%s)", err, fault.KindOf(err))
		}
		if p.called() != "stop" {
			t.Errorf("calls: %s", p.called())
		}
	})
}

func TestFailedStepsTellAll(t *testing.T) {
	t.Parallel()
	p := newFake()
	p.onStart = func(s *fakeSession) { s.screen = "the screen" }
	m := managed(t, p, agent.SessionConfig{Hints: workspace.Hints{SessionSetup: []string{"echo out; echo err >&2; exit 7"}}})
	err := m.Start(t.Context(), nil)
	var failed *agent.StartError
	if !errors.As(err, &failed) || failed.Step().Name != agent.StepSetup || failed.Step().Output != "out\nerr\n" || failed.Screen != "the screen" {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"dir/a", "session_setup", "exit status 7", "  err", "  the screen"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if running, _ := m.IsRunning(t.Context()); running {
		t.Error("a failed start left its session")
	}

	// Before there is a session, there is nothing to end.
	p = newFake()
	m = managed(t, p, agent.SessionConfig{StartupTimeout: 5 * time.Second, Hints: workspace.Hints{PreStart: []string{"echo begun; sleep 600"}}})
	err = m.Start(t.Context(), nil)
	if !errors.As(err, &failed) || fault.KindOf(err) != fault.Timeout || failed.Step().Output != "begun\n" || p.called() != "" {
		t.Errorf("%v, %s", err, p.called())
	}
}

func TestALateAgentIsNoFailure(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.busy = true
		p.onStart = func(s *fakeSession) { s.screen = "loading" }
		m := managed(t, p, agent.SessionConfig{StartupTimeout: 3 * time.Second, Nudge: "hello", Hints: workspace.Hints{ReadyPromptPrefix: "> "}})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if o := outcomes(m); o[agent.StepReady] != agent.Late || o[agent.StepNudge] != agent.Queued {
			t.Errorf("%v", o)
		}
		if err := m.Start(t.Context(), nil); fault.KindOf(err) != fault.Busy {
			t.Errorf("a second start: %v", err)
		}
	})
}

func TestStartStopsWithItsCaller(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.busy = true
		p.onStart = func(s *fakeSession) { s.screen = "loading" }
		m := managed(t, p, agent.SessionConfig{Hints: workspace.Hints{ReadyPromptPrefix: "> "}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p.onStart = func(s *fakeSession) { s.screen = "loading"; cancel() }
		if err := m.Start(ctx, nil); !errors.Is(err, context.Canceled) || !slices.Contains(strings.Fields(p.called()), "stop") {
			t.Errorf("%v, %s", err, p.called())
		}
	})
}

// An agent that ends while its first message waits has failed to start: nobody
// waits for the rest of the step's time.
func TestEndInTheNudgeStep(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.busy = true
		m := managed(t, p, agent.SessionConfig{Nudge: "go on", StartupTimeout: time.Minute})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for m.PendingNudges() == 0 {
				time.Sleep(time.Millisecond)
			}
			p.change("den-w-dir--a", func(s *fakeSession) { s.exit = &provider.Exit{Code: 137, Signal: "SIGKILL"} })
		}()
		err := m.Start(t.Context(), nil)
		<-ended
		var failed *agent.StartError
		if !errors.As(err, &failed) || failed.Step().Name != agent.StepNudge || fault.KindOf(err) != fault.NotRunning {
			t.Errorf("%v", err)
		}
	})
}

// checkGit demands that git, in an agent's environment, does not take files that
// an agent wrote for a repository, whose configuration runs code.
func checkGit(t *testing.T, env map[string]string) {
	git, dir := need.Program(t, "git"), t.TempDir()
	ran := filepath.Join(dir, "ran")
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n\tworktree = " + filepath.Join(dir, "sub") + "\n\tfsmonitor = \"touch " + ran + "; true\"\n", "objects/.k": "", "refs/.k": "",
	} {
		file := filepath.Join(dir, "sub", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runs := func(more ...string) bool {
		cmd := exec.Command(git, "status")
		cmd.Dir, cmd.Env = filepath.Join(dir, "sub"), append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, more...)
		_ = cmd.Run() // it may say that there is no repository
		_, err := os.Stat(ran)
		return err == nil
	}
	var all []string
	for name, value := range env {
		if strings.HasPrefix(name, "GIT_CONFIG_") {
			all = append(all, name+"="+value)
		}
	}
	if runs(all...) {
		t.Errorf("git runs what an agent wrote, with %q", all)
	}
	if !runs() {
		t.Error("git runs nothing of it without these settings either: the test proves nothing")
	}
}
