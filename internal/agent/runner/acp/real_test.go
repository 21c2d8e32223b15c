package acp_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/local"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// patience is for a real agent on a busy machine. Nothing is measured by it.
const patience = 2 * time.Minute

// realAgent is an agent that 'make test-agents' installs.
type realAgent struct {
	name  string
	home  func(realcli.TB, *modelstub.Server) *realcli.Home
	args  []string
	tool  string // by which the model runs a command
	goes  bool   // it goes on when something was denied
	loses bool   // it does not always find a session again
	setup func(*realcli.Home)
}

var realAgents = []realAgent{
	{name: "opencode", home: realcli.OpenCode, args: []string{"acp"}, tool: "bash", setup: func(h *realcli.Home) {
		h.Env = append(h.Env, `OPENCODE_PERMISSION={"bash":"ask","edit":"ask"}`)
	}},
	// With a model given it does not ask another one first which to take.
	{name: "gemini", home: realcli.Gemini, args: []string{"--acp", "-m", "gemini-2.5-flash"}, tool: "run_shell_command", goes: true, loses: true},
	{name: "copilot", home: realcli.Copilot, args: []string{"--acp"}, tool: "bash"},
}

// trial is a real agent, a model stub, and what the agent asked for.
type trial struct {
	*testing.T
	agent   realAgent
	stub    *modelstub.Server
	options runner.Options
	spawned *lastSpawned
	logged  lines

	mu    sync.Mutex // guards the fields below
	asked []permission.Request
	allow bool
}

// lastSpawned remembers the process that was started last.
type lastSpawned struct {
	local.Spawner
	last runner.Process
}

func (s *lastSpawned) Spawn(ctx context.Context, c runner.Command) (runner.Process, error) {
	p, err := s.Spawner.Spawn(ctx, c)
	s.last = p
	return p, err
}

func newTrial(t *testing.T, a realAgent) *trial {
	t.Helper()
	stub := modelstub.Start(t)
	home := a.home(t, stub)
	if a.setup != nil {
		a.setup(home)
	}
	mark := "acp-" + filepath.Base(filepath.Dir(home.Work))
	tr := &trial{T: t, agent: a, stub: stub, spawned: &lastSpawned{Spawner: local.Spawner{Mark: mark, Env: home.Env}}}
	tr.options = runner.Options{Spawn: tr.spawned, Command: append([]string{home.Program}, a.args...), Dir: home.Work, Ask: tr.ask, Log: tr.logged.add}
	version := exec.Command(home.Program, "--version")
	version.Env = home.Env
	out, err := version.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s", a.name, strings.TrimSpace(string(out)))
	t.Cleanup(func() {
		if left, err := tr.spawned.Clean(context.Background()); left > 0 || err != nil {
			t.Errorf("%d processes were left, %v", left, err)
		}
		if t.Failed() {
			t.Log(tr.logged.String())
		}
	})
	return tr
}

func (tr *trial) ask(_ context.Context, r permission.Request) permission.Decision {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.asked = append(tr.asked, r)
	return permission.Decision{Allow: tr.allow, Reason: "the owner said no"}
}

// answers decides what is asked from now on, and forgets what was asked.
func (tr *trial) answers(allow bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.asked, tr.allow = nil, allow
}

func (tr *trial) model(prompt string, replies ...modelstub.Reply) {
	tr.stub.When(modelstub.All(modelstub.Contains(prompt), modelstub.Offers(tr.agent.tool)), replies...)
}

func (tr *trial) open() runner.Session {
	tr.Helper()
	ctx, cancel := context.WithTimeout(tr.Context(), patience)
	defer cancel()
	s, err := acp.Driver{Files: true}.Open(ctx, tr.options)
	if err != nil {
		tr.Fatal(err)
	}
	tr.Cleanup(func() { s.Close() })
	return s
}

func (tr *trial) turn(s runner.Session, prompt string, each func(runner.Event)) ([]runner.Event, runner.Result, error) {
	tr.Helper()
	ctx, cancel := context.WithTimeout(tr.Context(), patience)
	defer cancel()
	var events []runner.Event
	result, err := s.Turn(ctx, prompt, func(e runner.Event) {
		events = append(events, e)
		if each != nil {
			each(e)
		}
	})
	return events, result, err
}

func (tr *trial) shell(command string) modelstub.Reply {
	return modelstub.Use(tr.agent.tool, fmt.Sprintf(`{"command":%q,"description":"make it"}`, command))
}

func (tr *trial) made(file string) bool {
	_, err := os.Stat(filepath.Join(tr.options.Dir, file))
	return err == nil
}

// TestReal drives real agents: a turn, a tool that is allowed and one that is
// denied, an interrupt, a kill within a turn, and the session that goes on.
func TestReal(t *testing.T) {
	for _, a := range realAgents {
		t.Run(a.name, func(t *testing.T) {
			tr := newTrial(t, a)
			tr.model("remember the word plum", modelstub.Say("plum, ", "noted"))
			s := tr.open()
			if _, result, err := tr.turn(s, "remember the word plum", nil); err != nil || result.Text != "plum, noted" || result.Usage.OutputTokens == 0 {
				t.Fatalf("%+v, %v", result, err)
			}
			tr.checkTools(s)
			tr.checkInterrupt(s)
			if !a.loses {
				s = tr.checkResume(s)
			}
			tr.checkKill(s)
		})
	}
}

func (tr *trial) checkTools(s runner.Session) {
	tr.Helper()
	tr.model("make the first file", tr.shell("echo made > first"), modelstub.Say("it is made"))
	tr.model("make the second file", tr.shell("echo made > second"), modelstub.Say("it is not made"))
	tr.answers(true)
	events, result, err := tr.turn(s, "make the first file", nil)
	if err != nil || result.Text != "it is made" || !tr.made("first") || len(tr.asked) != 1 {
		tr.Errorf("allowed: %+v, %v, asked %+v", result, err, tr.asked)
	}
	tr.checkUse(events, false)
	tr.answers(false)
	events, result, err = tr.turn(s, "make the second file", nil)
	if err != nil || tr.made("second") || len(tr.asked) != 1 || tr.agent.goes && result.Text != "it is not made" {
		tr.Errorf("denied: %+v, %v, asked %+v", result, err, tr.asked)
	}
	tr.checkUse(events, true)
	if r := tr.asked[0]; r.Kind != permission.Execute || !strings.Contains(r.Command+r.Text, "echo made > second") {
		tr.Errorf("asked for %+v", r)
	}
}

// checkUse demands one use of a tool and its end.
func (tr *trial) checkUse(events []runner.Event, denied bool) {
	tr.Helper()
	var used []string
	for _, e := range events {
		if e.Message != nil && e.Message.Content[0].Type == runner.BlockToolUse {
			used = append(used, e.Message.Content[0].ID)
		}
		if e.Result != nil && (len(used) != 1 || e.Result.ID != used[0] || e.Result.Denied != denied) {
			tr.Errorf("uses %q, end %+v", used, e.Result)
		}
	}
	if len(used) != 1 {
		tr.Errorf("uses %q", used)
	}
}

func (tr *trial) checkInterrupt(s runner.Session) {
	tr.Helper()
	hold := make(chan struct{})
	defer close(hold)
	tr.model("talk for long", modelstub.Reply{Text: []string{"one ", "two ", "three"}, Hold: hold})
	tr.model("are you there", modelstub.Say("yes"))
	asked := false
	_, result, err := tr.turn(s, "talk for long", func(e runner.Event) {
		if e.Kind == runner.Partial && !asked {
			asked = true
			if err := s.Interrupt(tr.Context()); err != nil {
				tr.Error(err)
			}
		}
	})
	if err != nil || !result.Cancelled {
		tr.Errorf("interrupted: %+v, %v", result, err)
	}
	if _, result, err := tr.turn(s, "are you there", nil); err != nil || result.Text != "yes" {
		tr.Errorf("after the interrupt: %+v, %v", result, err)
	}
}

// checkResume closes a session and goes on with it in another process.
func (tr *trial) checkResume(s runner.Session) runner.Session {
	tr.Helper()
	if exit := s.Close(); exit.Code != 0 {
		tr.Errorf("closed: %+v", exit)
	}
	id := s.ID()
	tr.options.Resume = id
	s = tr.open()
	tr.model("what was the word", modelstub.Say("plum"))
	if _, result, err := tr.turn(s, "what was the word", nil); err != nil || result.Text != "plum" || s.ID() != id {
		tr.Errorf("resumed %s as %s: %+v, %v", id, s.ID(), result, err)
	}
	r, err := tr.stub.Await(tr.Context(), modelstub.All(modelstub.Contains("what was the word"), modelstub.Offers(tr.agent.tool)))
	if err != nil || !strings.Contains(string(r.Body), "plum, noted") {
		tr.Errorf("the model was asked without what came before: %v", err)
	}
	return s
}

// checkKill kills the agent within a turn, and goes on with its session.
func (tr *trial) checkKill(s runner.Session) {
	tr.Helper()
	hold := make(chan struct{})
	defer close(hold)
	tr.model("talk for ever", modelstub.Reply{Text: []string{"one ", "two"}, Hold: hold})
	_, _, err := tr.turn(s, "talk for ever", func(e runner.Event) {
		if e.Kind == runner.Partial {
			if err := tr.spawned.last.Signal(syscall.SIGKILL); err != nil {
				tr.Error(err)
			}
		}
	})
	if classOf(err) != runner.Gone {
		tr.Errorf("killed: %v", err)
	}
	if exit := s.Close(); exit.Code != 137 {
		tr.Errorf("killed: %+v", exit)
	}
	if !tr.agent.loses {
		tr.checkResumeKilled()
	}
	tr.options.Resume = "00000000-0000-4000-8000-000000000000"
	if s, err := (acp.Driver{}).Open(tr.Context(), tr.options); classOf(err) != runner.NoSession {
		tr.Errorf("a session that is not there: %v", err)
		if err == nil {
			s.Close()
		}
	}
}

func (tr *trial) checkResumeKilled() {
	tr.Helper()
	tr.model("are you back", modelstub.Say("I am"))
	s := tr.open()
	if _, result, err := tr.turn(s, "are you back", nil); err != nil || result.Text != "I am" {
		tr.Errorf("resumed after the kill: %+v, %v", result, err)
	}
	s.Close()
}
