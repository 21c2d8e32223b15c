package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/place/provider/tmux"
	"den/internal/place/workspace"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
	"den/internal/testkit/need"
)

// den is the binary whose hosts the tests run.
var den string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds den, and keeps its sockets apart from those of people.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-a-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // Best effort.
	os.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("HOME", dir) // shells keep their history there
	return m.Run()
}

// onReal runs a test with the providers that draw real screens, beside others.
func onReal(t *testing.T, test func(t *testing.T, p provider.Provider)) {
	t.Parallel()
	onNative(t, test)
	t.Run("tmux", func(t *testing.T) {
		t.Parallel()
		need.Program(t, "tmux")
		dir, err := os.MkdirTemp("/tmp", "den-at-")
		if err != nil {
			t.Fatal(err)
		}
		socket := filepath.Join(dir, "s")
		p, err := tmux.Open(tmux.Options{Socket: socket, Owner: "w"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			exec.Command("tmux", "-S", socket, "kill-server").Run() // Best effort: there may be none.
			os.RemoveAll(dir)                                       // Best effort.
		})
		test(t, p)
	})
}

// onNative runs a test with den's own sessions.
func onNative(t *testing.T, test func(t *testing.T, p provider.Provider)) {
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		p, err := native.Open(native.Options{Home: home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true}, Owner: "w", Binary: den, Version: "test", Grace: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		test(t, p)
	})
}

func real(t *testing.T, p provider.Provider, c agent.SessionConfig) *agent.Managed {
	t.Helper()
	c.WorkDir = t.TempDir()
	c.StartupTimeout = 20 * time.Second
	m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "den-w-a", Provider: p, Config: c, Nudges: queue(t, t.TempDir()), Timing: quick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := m.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestRealShell(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := real(t, p, agent.SessionConfig{Command: []string{"bash", "--norc"}, Env: values(map[string]string{"PS1": "ready> "}), Nudge: "echo first-$((40+2))"})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if running, err := m.IsRunning(t.Context()); err != nil || !running {
			t.Errorf("running %v, %v", running, err)
		}
		shows(t, m, "first-42")
		for i := range 3 {
			n, err := m.Nudge(t.Context(), "", fmt.Sprintf("echo again-%d-$((%d*2))", i, i+10))
			if err != nil || n.Status != conversation.Taken {
				t.Fatalf("%+v, %v", n, err)
			}
			shows(t, m, fmt.Sprintf("again-%d-%d", i, (i+10)*2))
		}
		if drift, err := m.Drift(t.Context()); err != nil || drift != nil {
			t.Errorf("drift %v, %v", drift, err)
		}
		if held, err := m.Held(t.Context()); err != nil || held != "" {
			t.Errorf("held %q, %v", held, err)
		}
		if err := m.Drain(t.Context(), "test"); err != nil {
			t.Error(err)
		}
		if err := m.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if running, err := m.IsRunning(t.Context()); err != nil || running {
			t.Errorf("after stop: %v, %v", running, err)
		}
	})
}

func shows(t *testing.T, m *agent.Managed, text string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	var screen string
	for time.Now().Before(deadline) {
		var err error
		if screen, err = m.Peek(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(screen, text) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%q does not appear on:\n%s", text, screen)
}

func TestRealDeathAtOnce(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		// It is waited for: a machine under load may run it late.
		m := real(t, p, agent.SessionConfig{Command: []string{"sh", "-c", "echo no such model; exit 3"}, Hints: workspace.Hints{ReadyPromptPrefix: "ready> "}})
		err := m.Start(t.Context(), nil)
		var failed *agent.StartError
		if !errors.As(err, &failed) || fault.KindOf(err) != fault.NotRunning || !strings.Contains(failed.Screen, "no such model") || !strings.Contains(err.Error(), "status 3") {
			t.Fatalf("%v", err)
		}
	})
}

// menuProgram draws claude's dialog of today in a raw terminal and follows
// arrow keys: Enter on "No" ends it.
const menuProgram = `
stty raw -echo
row=0
draw() {
	printf '\033[2J\033[H Accessing workspace:\r\n\r\n Quick safety check: Is this a project you trust?\r\n\r\n'
	if [ $row = 0 ]; then printf ' ❯ No, exit\r\n   Yes, I trust this folder\r\n'; else printf '   No, exit\r\n ❯ Yes, I trust this folder\r\n'; fi
	printf '\r\n Enter to confirm · Esc to cancel\r\n'
}
draw
while :; do
	key=$(dd bs=8 count=1 2>/dev/null | od -An -c | tr -d ' \n')
	case $key in
	*'[B'|*OB) row=1; draw ;;
	*'[A'|*OA) row=0; draw ;;
	'\r') if [ $row = 1 ]; then break; fi; stty sane; echo refused; exit 1 ;;
	esac
done
stty sane
printf '\033[2J\033[Hwelcome\r\n'
while printf '❯ ' && read -r line; do echo "got <$line>"; done
`

func TestRealDialog(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := real(t, p, agent.SessionConfig{Command: []string{"sh", "-c", menuProgram}, Nudge: "hello there",
			Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"sh"}}})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatalf("%v\n%+v", err, m.LastStart())
		}
		t.Log(m.LastStart())
		shows(t, m, "got <hello there>")
		for _, s := range m.LastStart() {
			if s.Name == agent.StepNudge && !strings.HasPrefix(s.Output, string(conversation.Taken)) {
				t.Errorf("%+v", s)
			}
			if s.Outcome == agent.Blocked || s.Outcome == agent.Late {
				t.Errorf("%+v", s)
			}
		}
	})
}
