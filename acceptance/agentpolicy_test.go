package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// policyRules are those of the test's agents: what is denied, what is allowed,
// and one command that a person is asked for, whatever the program thinks of it.
const policyRules = `permissions = [
	{ outcome = "deny", command = "rm *", why = "nothing is removed here" },
	{ outcome = "allow", command = "touch allowed" },
	{ outcome = "ask", command = "touch asked" },
]
`

// A policyAgent is a coding agent on a screen, and how it is made to run a
// command.
type policyAgent struct {
	name string
	home func(t *testing.T, stub *modelstub.Server) *realcli.Home
	tool string
	// use is the tool's input that runs a command.
	use func(command, approval string) string
	yes string // the option that lets it run once
	// silent is that den is not told what its own policy decides.
	silent bool
}

func plainUse(command, _ string) string {
	data, err := json.Marshal(map[string]string{"command": command, "description": "try it"})
	if err != nil {
		panic(err) // strings: cannot be
	}
	return string(data)
}

var policyAgents = []policyAgent{
	{name: "claude", home: trustingClaude, tool: "Bash", use: plainUse, yes: "Yes"},
	{name: "copilot", home: trustingCopilot, tool: "bash", use: plainUse, yes: "Yes"},
	{name: "gemini", home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Gemini(t, stub) }, tool: "run_shell_command", use: plainUse, yes: "Allow once", silent: true},
	{name: "codex", home: trustingCodex, tool: "exec", yes: "approve", use: func(command, approval string) string {
		escalate := ", sandbox_permissions: 'require_escalated', justification: 'to try'"
		if approval == "bypass" {
			escalate = "" // there is no sandbox
		}
		return fmt.Sprintf(`"text((await tools.exec_command({cmd: '%s'%s})).output)"`, command, escalate)
	}},
	{name: "opencode", home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.OpenCode(t, stub) }, tool: "bash", use: plainUse, yes: "Allow once"},
}

// trustingCopilot has been told that the folder is trusted.
func trustingCopilot(t *testing.T, stub *modelstub.Server) *realcli.Home {
	h := realcli.Copilot(t, stub)
	text, err := json.Marshal(map[string]any{"trusted_folders": []string{h.Work}})
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, ".copilot/config.json", text)
	return h
}

// One policy for terminals too: in the real agents on their screens a command
// that a rule denies is denied and the model is told why, one that a rule allows
// runs unasked, and one that a rule asks for waits in 'den attention' and runs
// when a person says so there. Each is in the audit log. All of it holds where the
// agent bypasses its own questions, too.
func TestAgentPolicy(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range policyAgents {
		for _, approval := range []string{"ask", "bypass"} {
			t.Run(a.name+"/"+approval, func(t *testing.T) { startPolicy(t, a, approval).obeysRules() })
		}
	}
}

func startPolicy(t *testing.T, a policyAgent, approval string) *policyRun {
	t.Helper()
	stub := modelstub.Start(t)
	h := a.home(t, stub)
	keys := fmt.Sprintf("approval = %q\n", approval)
	if a.name == "gemini" {
		keys += "model = \"gemini-2.5-flash\"\n"
	}
	table := strings.Replace(agentTable(realAgent{name: a.name}, h), "[agents.env]\n", keys+policyRules+"[agents.env]\n", 1)
	return &policyRun{kept: keepWorkspace(t, a.name, h, "[workspace]\nname = \"w\"\n\n"+table), agent: a, approval: approval, stub: stub}
}

func (p *policyRun) obeysRules() {
	p.t.Helper()
	p.script("deny it", "rm kept")
	p.script("allow it", "touch allowed")
	p.script("ask for it", "touch asked")
	p.write("kept")
	p.do("up", "--wait", "-t", "3m")

	p.nudge("deny it")
	p.finished("deny it")
	p.nudge("allow it")
	p.finished("allow it")
	if !p.made("kept") || !p.made("allowed") {
		p.t.Errorf("kept: %v, allowed: %v", p.made("kept"), p.made("allowed"))
	}
	if asked := p.asked(); len(asked) > 0 {
		p.t.Errorf("it was asked for %+v", asked)
	}

	p.nudge("ask for it")
	waiting := p.waits()
	if p.made("asked") {
		p.t.Error("it ran before anybody was asked")
	}
	if waiting.Kind == "approval" {
		p.do("approvals", "approve", waiting.question(p.agent.name))
	} else {
		p.do("agent", "answer", p.agent.name, waiting.question(p.agent.name), p.agent.yes)
	}
	p.finished("ask for it")
	if !p.made("asked") {
		p.t.Error("it did not run")
	}
	switch {
	case p.agent.silent:
	case p.agent.name == "codex" && p.approval == "bypass": // it asks nobody for what is allowed
		p.audited("deny rm kept", "ask touch asked")
	default:
		p.audited("deny rm kept", "allow touch allowed", "ask touch asked")
	}
	p.do("down", "-t", "1m")
	p.leavesNothing()
}

// policyRun is one agent of the test.
type policyRun struct {
	*kept
	agent    policyAgent
	approval string
	stub     *modelstub.Server
}

func (p *policyRun) script(text, command string) {
	p.stub.When(modelstub.All(modelstub.Is(text), modelstub.Offers(p.agent.tool)), modelstub.Use(p.agent.tool, p.agent.use(command, p.approval)), modelstub.Say("That was: ", text+"."))
}

func (p *policyRun) write(name string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.agentHome.Work, name), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *policyRun) made(name string) bool {
	_, err := os.Stat(filepath.Join(p.agentHome.Work, name))
	return err == nil
}

func (p *policyRun) nudge(text string) {
	p.t.Helper()
	if out := p.do("agent", "nudge", p.agent.name, text, "-t", "3m"); !strings.Contains(out, "taken") && !strings.Contains(out, "sent") && !strings.Contains(out, "answered") {
		p.t.Fatalf("the nudge: %s", out)
	}
}

// finished waits until the model was told what came of the command.
func (p *policyRun) finished(text string) {
	p.t.Helper()
	p.until(func() bool {
		for _, r := range p.stub.Requests() {
			if r.Text == text && len(r.Results) > 0 {
				return true
			}
		}
		return false
	}, "the model is not told of the tool's result")
}

// policyPatience is for a real agent on a machine that has other things to do: a
// turn of opencode took two minutes beside a hundred busy processes.
const policyPatience = 5 * time.Minute

func (p *policyRun) until(is func() bool, otherwise string) {
	p.t.Helper()
	for deadline := time.Now().Add(policyPatience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			out, errOut, _ := p.try("attention")
			for _, r := range p.stub.Requests() {
				p.t.Logf("the model was asked %q, results %q, %d tools", r.Text, r.Results, len(r.Tools))
			}
			p.t.Fatalf("%s\n%s%s", otherwise, out, errOut)
		}
	}
}

// waitingItem is one that 'den attention' lists.
type waitingItem struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	What string `json:"what"`

	Actions []struct {
		Name string `json:"name"`
	} `json:"actions"`
}

// offers reports whether it can be answered by an option.
func (w waitingItem) offers(option string) bool {
	for _, a := range w.Actions {
		if a.Name == option || strings.HasSuffix(a.Name, ": "+option) {
			return true
		}
	}
	return false
}

// question is the id by which it is answered.
func (w waitingItem) question(agent string) string {
	return strings.TrimPrefix(w.ID, w.Kind+":"+agent+":")
}

// asked lists what the agent asks.
func (p *policyRun) asked() []waitingItem {
	p.t.Helper()
	var told struct {
		Waiting []waitingItem `json:"waiting"`
	}
	if err := json.Unmarshal([]byte(p.do("attention", "-j")), &told); err != nil {
		p.t.Fatal(err)
	}
	var all []waitingItem
	for _, w := range told.Waiting {
		if w.Kind == "question" || w.Kind == "approval" {
			all = append(all, w)
		}
	}
	return all
}

// waits waits for a question that can be answered.
func (p *policyRun) waits() waitingItem {
	p.t.Helper()
	var one waitingItem
	p.until(func() bool {
		all := p.asked()
		if len(all) == 1 {
			one = all[0]
		}
		return len(all) == 1 && one.offers(p.agent.yes)
	}, "nothing waits for a person")
	p.t.Logf("waits: %+v", one)
	return one
}

// audited demands what the audit log has of the commands that rules decided.
func (p *policyRun) audited(want ...string) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(p.file), ".den", "minds", p.agent.name, "permission", "audit.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		var e struct {
			Event, Outcome string
			Request        struct{ Command string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatal(err)
		}
		if e.Event == "policy" || e.Event == "asked" {
			got = append(got, e.Outcome+" "+e.Request.Command)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		p.t.Errorf("the audit log has %q, want %q", got, want)
	}
}
