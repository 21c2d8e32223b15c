package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/sources"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// A stateAgent is a coding agent whose state has a source of its own, and what
// must be pressed on its screen.
type stateAgent struct {
	name      string
	home      func(t *testing.T, stub *modelstub.Server) *realcli.Home
	args      []string
	tool      string
	input     string // of the tool, that makes a file; %s is its name
	deny      []string
	approve   []string
	interrupt []string
	trust     string // is on the screen when it asks whether to trust the folder, first choice yes; or ""
	up        string // is on the screen when it is up
	late      bool   // the source says nothing before the first message: there may be dialogs
	dialog    string // is on the screen with a permission; the source may tell sooner
	screen    string // a part of the command line of the process with the screen
}

var stateAgents = []stateAgent{
	{
		name: "claude", home: trustingClaude, args: []string{"--permission-mode", "default"}, screen: "claude", up: "❯", dialog: "Do you want to proceed?",
		tool: "Bash", input: `{"command":"touch %s","description":"make a file"}`,
		deny: []string{"Escape"}, approve: []string{"Enter"}, interrupt: []string{"Escape"},
	},
	{
		name: "opencode", home: askingOpenCode, screen: "opencode", up: "Ask anything", dialog: "Permission required",
		tool: "bash", input: `{"command":"touch %s","description":"make a file"}`,
		deny: []string{"Escape"}, approve: []string{"Enter"}, interrupt: []string{"Escape", "Escape"},
	},
	{
		name: "codex", home: trustingCodex, args: []string{"--ask-for-approval", "on-request", "--sandbox", "workspace-write"}, screen: "--remote",
		up: "›", dialog: "Press enter to confirm",
		tool: "exec", input: `"text((await tools.exec_command({cmd: 'touch %s', sandbox_permissions: 'require_escalated', justification: 'to try'})).output)"`,
		deny: []string{"Escape"}, approve: []string{"Enter"}, interrupt: []string{"Escape"},
	},
	{
		name: "gemini", home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Gemini(t, stub) },
		args: []string{"--model", "gemini-2.5-flash"}, screen: "gemini", up: "Type your message", dialog: "Allow execution",
		tool: "run_shell_command", input: `{"command":"touch %s","description":"make a file"}`,
		deny: []string{"Escape"}, approve: []string{"Enter"}, interrupt: []string{"Escape"},
	},
	{
		name: "copilot", home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Copilot(t, stub) },
		screen: "copilot", trust: "Do you trust the files", up: "/ commands", late: true, dialog: "Do you want to run this command?",
		tool: "bash", input: `{"command":"touch %s","description":"make a file"}`,
		deny: []string{"Escape"}, approve: []string{"Enter"}, interrupt: []string{"Escape", "Escape"},
	},
}

func trustingClaude(t *testing.T, stub *modelstub.Server) *realcli.Home {
	h := realcli.Claude(t, stub)
	text, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark",
		"customApiKeyResponses": map[string]any{"approved": []string{h.Key[len(h.Key)-20:]}},
		"projects":              map[string]any{h.Work: map[string]any{"hasTrustDialogAccepted": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, ".claude.json", text)
	return h
}

func askingOpenCode(t *testing.T, stub *modelstub.Server) *realcli.Home {
	h := realcli.OpenCode(t, stub)
	h.Env = append(h.Env, `OPENCODE_PERMISSION={"bash":"ask"}`)
	return h
}

func trustingCodex(t *testing.T, stub *modelstub.Server) *realcli.Home {
	h := realcli.Codex(t, stub, "")
	config, err := os.ReadFile(filepath.Join(h.Dir, ".codex", "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, ".codex/config.toml", fmt.Appendf(config, "\n[projects.%q]\ntrust_level = \"trusted\"\n", h.Work))
	return h
}

// statePatience is for a real agent on a machine that has other things to do.
const statePatience = 2 * time.Minute

// stateRun is one agent that runs in a native session, and its source.
type stateRun struct {
	*testing.T
	world   *world
	agent   stateAgent
	stub    *modelstub.Server
	home    *realcli.Home
	p       *native.Provider
	from    sources.Agent
	source  conversation.Source
	session string
	sent    int
}

func startStates(t *testing.T, a stateAgent) *stateRun {
	t.Helper()
	need.Long(t, "starts coding agents, which takes seconds each")
	stub := modelstub.Start(t)
	h := a.home(t, stub)
	w := newWorld(t)
	for _, kv := range w.env {
		if key, value, _ := strings.Cut(kv, "="); key == "DEN_RUN_DIR" {
			t.Setenv(key, value) // the provider runs in this process
		}
	}
	initRepository(t, h.Work)
	p, err := native.Open(native.Options{Home: w.home, Owner: "w", Binary: w.den, Version: "test", Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "den-src-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	r := &stateRun{T: t, world: w, agent: a, stub: stub, home: h, p: p, session: "den-w-" + a.name}
	r.from = sources.Agent{
		Vendor: a.name, Env: envMap(h.Env), Dir: filepath.Join(dir, "s"), Version: "test",
		Processes: func(ctx context.Context) ([]int, error) { return p.Processes(ctx, r.session) },
		Title:     func(ctx context.Context) (string, error) { return p.Title(ctx, r.session) },
	}
	t.Cleanup(func() { r.end(dir) })
	r.start()
	return r
}

func envMap(env []string) map[string]string {
	m := map[string]string{}
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		m[key] = value
	}
	return m
}

func (r *stateRun) start() {
	r.Helper()
	launch, err := r.from.Prepare(append([]string{r.home.Program}, r.agent.args...))
	if err != nil {
		r.Fatal(err)
	}
	env := envMap(r.home.Env)
	for key, value := range launch.Env {
		env[key] = value
	}
	if err := r.p.Start(r.Context(), r.session, provider.Config{Argv: launch.Argv, WorkDir: r.home.Work, Env: env}); err != nil {
		r.Fatal(err)
	}
	r.open()
	if r.agent.trust != "" {
		r.shows(r.agent.trust)
		for !r.on(r.agent.up) {
			if r.on(r.agent.trust) {
				r.press([]string{"Enter"})
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	r.shows(r.agent.up)
}

// on reports whether a text is on the screen.
func (r *stateRun) on(text string) bool {
	r.Helper()
	screen, err := r.p.Peek(r.Context(), r.session, 60)
	if err != nil {
		r.Fatal(err)
	}
	return strings.Contains(screen, text)
}

// shows waits for a text on the screen.
func (r *stateRun) shows(text string) {
	r.Helper()
	for deadline := time.Now().Add(statePatience); !r.on(text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("%q is not on the screen", text)
		}
	}
}

func (r *stateRun) open() {
	r.Helper()
	source, err := r.from.Open()
	if err != nil {
		r.Fatal(err)
	}
	r.source = source
}

// reopen is what a new keeper does with an agent that runs.
func (r *stateRun) reopen() {
	r.Helper()
	if err := r.source.Close(); err != nil {
		r.Error(err)
	}
	r.open()
}

func (r *stateRun) end(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own is over
	defer cancel()
	if r.Failed() {
		screen, err := r.p.Peek(ctx, r.session, 60)
		r.Logf("the screen: %v\n%s", err, screen)
		for _, q := range r.stub.Requests() {
			r.Logf("%s %s: text %q, results %q, %d tools, unscripted %v", q.Method, q.Path, q.Text, q.Results, len(q.Tools), q.Unscripted)
		}
		r.showLogs()
	}
	if r.source != nil {
		if err := r.source.Close(); err != nil {
			r.Error(err)
		}
	}
	if err := r.p.Stop(ctx, r.session); err != nil {
		r.Error(err)
	}
	if left := processesOf(r.home); len(left) > 0 {
		r.Errorf("after the stop there are still %q", left)
	}
	if err := os.RemoveAll(dir); err != nil {
		r.Error(err)
	}
}

// showLogs shows the end of what opencode wrote down of itself.
func (r *stateRun) showLogs() {
	r.Helper()
	const end = 8 << 10
	logs, err := filepath.Glob(filepath.Join(r.home.Dir, ".local/share/*/log/*.log"))
	if err != nil {
		r.Error(err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		r.Logf("%s: %v\n%s", path, err, text[max(0, len(text)-end):])
	}
}

// await waits until the source says so, and returns the state.
func (r *stateRun) await(want conversation.Activity) conversation.State {
	r.Helper()
	deadline := time.After(statePatience)
	for {
		s, err := r.source.State(r.Context())
		if err == nil && s.Activity == want {
			r.Logf("%s: %s %s", r.source.Name(), s.Activity, s.Why)
			if (s.Question != nil) != (want == conversation.Asking) || s.Source != r.source.Name() {
				r.Errorf("%+v", s)
			}
			return s
		}
		select {
		case <-r.source.Changes():
		case <-deadline:
			r.Fatalf("the state is %+v, %v; want %s", s, err, want)
		}
	}
}

// say hands a message over: by the source where it can, else by typing. The
// agent is ready.
func (r *stateRun) say(text string) {
	r.Helper()
	if r.agent.late && r.sent == 0 {
		r.await(conversation.Unknown)
	} else {
		r.await(conversation.Ready)
	}
	r.sent++
	sender, ok := r.source.(conversation.Sender)
	if !ok {
		r.typed(text)
		return
	}
	receipt, err := sender.Send(r.Context(), conversation.Message{ID: fmt.Sprintf("m-%d", r.sent), Text: text})
	if err != nil || receipt.Progress != conversation.Taken || receipt.Evidence == "" {
		r.Fatalf("the message %q: %+v, %v", text, receipt, err)
	}
	r.Logf("%q: %s, %s", text, receipt.Progress, receipt.Evidence)
}

// typed types a message. Some agents take an Enter right behind a paste for a
// part of it: it is pressed again while nothing happens.
func (r *stateRun) typed(text string) {
	r.Helper()
	before, err := r.source.State(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if err := r.p.Nudge(r.Context(), r.session, text); err != nil {
		r.Fatal(err)
	}
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for deadline := time.After(statePatience); ; {
		s, err := r.source.State(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		if s.Activity != before.Activity {
			return
		}
		select {
		case <-r.source.Changes():
		case <-again.C:
			r.press([]string{"Enter"})
		case <-deadline:
			r.Fatalf("%q has no effect", text)
		}
	}
}

func (r *stateRun) press(chords []string) {
	r.Helper()
	for _, chord := range chords {
		if err := r.p.SendKeys(r.Context(), r.session, chord); err != nil {
			r.Fatal(err)
		}
	}
}

// decide answers the dialog on the screen.
func (r *stateRun) decide(chords []string) {
	r.Helper()
	r.pressWhile(conversation.Asking, r.agent.dialog, chords)
}

// pressWhile presses keys until the source no longer tells the activity. It
// presses only while the text is on the screen, if one is given. Agents ignore
// keys for a moment after they have drawn a dialog, and a server tells of a
// turn before the screen beside it knows: keys without an effect are pressed
// again.
func (r *stateRun) pressWhile(activity conversation.Activity, text string, chords []string) {
	r.Helper()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for deadline := time.After(statePatience); ; {
		r.shows(text)
		r.press(chords)
		for waits := true; waits; {
			s, err := r.source.State(r.Context())
			if err != nil {
				r.Fatal(err)
			}
			if s.Activity != activity {
				return
			}
			select {
			case <-r.source.Changes():
			case <-again.C:
				waits = false
			case <-deadline:
				r.Fatalf("it is still %s after %q", activity, chords)
			}
		}
	}
}

// script lets a message make the model use the tool, and then say something.
func (r *stateRun) script(text, file string) {
	r.stub.When(r.asks(text), modelstub.Use(r.agent.tool, fmt.Sprintf(r.agent.input, file)), modelstub.Say("That was ", text+"."))
}

// asks matches what the agent asks for a message, and not for its title:
// codex offers tools then, opencode has the user's text alone.
func (r *stateRun) asks(text string) modelstub.Match {
	return modelstub.All(modelstub.Is(text), modelstub.Offers(r.agent.tool))
}

func (r *stateRun) made(file string) bool {
	_, err := os.Stat(filepath.Join(r.home.Work, file))
	return err == nil
}

// The states of real agents, as their sources tell them: through permissions
// that are denied and approved, Esc in a turn, a keeper that comes anew, and
// the end of the process.
func TestAgentStates(t *testing.T) {
	for _, a := range stateAgents {
		t.Run(a.name, func(t *testing.T) {
			r := startStates(t, a)
			r.script("denied work", "denied")
			r.script("approved work", "approved")
			goOn := make(chan struct{})
			defer close(goOn)
			r.stub.When(r.asks("long work"), modelstub.Reply{Text: []string{"I begin. ", "I am done."}, Hold: goOn})

			r.say("denied work")
			first := r.await(conversation.Asking)
			if first.Question.Kind != conversation.Permission {
				t.Errorf("the question is %+v", first.Question)
			}
			r.decide(a.deny)
			r.await(conversation.Ready)

			r.say("approved work")
			second := r.await(conversation.Asking)
			if second.Question.ID == first.Question.ID {
				t.Errorf("two questions have the id %s", first.Question.ID)
			}
			r.refusesToSend()
			r.reopen()
			r.await(conversation.Asking)
			r.decide(a.approve)
			r.await(conversation.Ready)
			if r.made("denied") || !r.made("approved") {
				t.Errorf("denied: %v, approved: %v", r.made("denied"), r.made("approved"))
			}

			r.say("long work")
			r.await(conversation.Busy)
			r.pressWhile(conversation.Busy, "", a.interrupt)
			r.await(conversation.Ready)

			r.kill()
			r.await(conversation.Gone)
		})
	}
}

// refusesToSend demands that no message goes to an agent that asks.
func (r *stateRun) refusesToSend() {
	r.Helper()
	sender, ok := r.source.(conversation.Sender)
	if !ok {
		return
	}
	receipt, err := sender.Send(r.Context(), conversation.Message{ID: "refused", Text: "maybe"})
	if fault.KindOf(err) != fault.Busy || receipt.Progress != conversation.Failed {
		r.Errorf("a message to an agent that asks: %+v, %v", receipt, err)
	}
}

// kill ends the process with the screen as a crash would.
func (r *stateRun) kill() {
	r.Helper()
	pids, err := r.p.Processes(r.Context(), r.session)
	if err != nil {
		r.Fatal(err)
	}
	killed := 0
	for _, pid := range pids {
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(argv), r.agent.screen) || strings.HasPrefix(string(argv), "sh\x00") {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		r.Fatal("there is nothing to kill")
	}
}

// Questions are decided by the side channel, without a key, and only while
// they are open; the same message sent twice is one.
func TestAgentAnswers(t *testing.T) {
	for _, a := range stateAgents {
		if a.name != "codex" && a.name != "opencode" {
			continue // there is no sound way to answer it but its screen
		}
		t.Run(a.name, func(t *testing.T) {
			r := startStates(t, a)
			answerer := r.source.(conversation.Answerer)
			r.await(conversation.Ready)
			r.script("approved work", "approved")
			r.script("denied work", "denied")
			no, yes := map[string]string{"opencode": "reject", "codex": "cancel"}[a.name], map[string]string{"opencode": "once", "codex": "accept"}[a.name]

			r.say("denied work")
			question := r.awaitOptions()
			if err := answerer.Answer(t.Context(), question.ID, "maybe"); fault.KindOf(err) != fault.Usage {
				t.Errorf("an answer that is no option: %v", err)
			}
			if err := answerer.Answer(t.Context(), question.ID, no); err != nil {
				t.Fatal(err)
			}
			r.await(conversation.Ready)
			if err := answerer.Answer(t.Context(), question.ID, yes); fault.KindOf(err) != fault.NotFound {
				t.Errorf("an answer to a question that is no longer open: %v", err)
			}

			r.say("approved work")
			if err := answerer.Answer(t.Context(), r.awaitOptions().ID, yes); err != nil {
				t.Fatal(err)
			}
			r.await(conversation.Ready)
			if r.made("denied") || !r.made("approved") {
				t.Errorf("denied: %v, approved: %v", r.made("denied"), r.made("approved"))
			}

			r.stub.Always(modelstub.Contains("ping"), modelstub.Say("pong"))
			sender := r.source.(conversation.Sender)
			for range 2 {
				receipt, err := sender.Send(t.Context(), conversation.Message{ID: "twice", Text: "ping once"})
				if err != nil || receipt.Progress != conversation.Taken {
					t.Fatalf("%+v, %v", receipt, err)
				}
				r.await(conversation.Ready)
			}
			pings := 0
			for _, req := range r.stub.Requests() {
				if req.Text == "ping once" && len(req.Tools) > 0 {
					pings++
				}
			}
			if pings != 1 {
				t.Errorf("the model was asked %d times", pings)
			}
		})
	}
}

// Messages that come in the last moment of a turn are asked about, too: codex
// alone would add one in some dozens to the turn and never ask its model.
func TestAgentAnswersEveryMessage(t *testing.T) {
	codex := stateAgents[slices.IndexFunc(stateAgents, func(a stateAgent) bool { return a.name == "codex" })]
	r := startStates(t, codex)
	r.await(conversation.Ready)
	r.stub.Always(modelstub.Contains("ping"), modelstub.Say("pong"))
	ctx, cancel := context.WithTimeout(t.Context(), statePatience)
	defer cancel()
	for i := range 80 {
		text := fmt.Sprintf("ping %d", i)
		receipt, err := r.source.(conversation.Sender).Send(ctx, conversation.Message{ID: fmt.Sprintf("m-%d", i), Text: text})
		if err != nil || receipt.Progress != conversation.Taken {
			t.Fatalf("the message %q: %+v, %v", text, receipt, err)
		}
		if _, err := r.stub.Await(ctx, modelstub.Is(text)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i%12) * time.Millisecond) // to come at different moments of the turn
	}
	r.await(conversation.Ready)
}

// awaitOptions waits for a question that can be answered.
func (r *stateRun) awaitOptions() *conversation.Question {
	r.Helper()
	for deadline := time.Now().Add(statePatience); time.Now().Before(deadline); {
		if q := r.await(conversation.Asking).Question; len(q.Options) > 0 {
			return q
		}
		select {
		case <-r.source.Changes():
		case <-time.After(time.Until(deadline)):
		}
	}
	r.Fatal("the question has no options")
	return nil
}
