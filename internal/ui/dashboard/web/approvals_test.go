package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/keeper"
	"den/internal/testkit/need"
)

// team is a workspace with real agents in their harnesses, that ask for
// permission over ACP, and a page that may decide.
type team struct {
	*world
	dir string // of the workspace
}

func newTeam(t *testing.T) *team {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		need.Missing(t, "python3 is not installed: %v", err)
	}
	agent, err := filepath.Abs("testdata/agent.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := "[workspace]\nname = \"crew\"\n"
	tui, err := filepath.Abs("testdata/tui.py")
	if err != nil {
		t.Fatal(err)
	}
	config += fmt.Sprintf("\n[[agents]]\nname = \"tui\"\nprovider = \"claude\"\nstart_command = [%q, %q]\nprompt_mode = \"none\"\nstate_source = \"screen\"\nprocess_names = [\"python3\"]\nready_delay_ms = 0\nemits_permission_warning = false\n", python, tui)
	for _, name := range []string{"coder", "hasty", "thief"} {
		config += fmt.Sprintf("\n[[agents]]\nname = %q\nagent = \"acp\"\nacp_command = [%q, %q]\n", name, python, agent)
		if name == "hasty" {
			config += "approval_expiry = \"1s\"\n"
		}
	}
	file := filepath.Join(dir, "den.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, file, allowActions)
	w.Env = append(w.Env, "DEN_WORKSPACE="+file)
	w.Do("up", "--wait")
	t.Cleanup(func() { w.Do("down") })
	return &team{world: w, dir: dir}
}

// ask gives an agent a message. The answer comes when its turn has ended.
func (w *team) ask(agent, text string) <-chan string {
	w.T.Helper()
	cmd := exec.CommandContext(within(w.T), w.Den, "agent", "ask", agent, text)
	cmd.Env = w.Env
	answer := make(chan string, 1) // room for the one
	go func() {
		out, err := cmd.CombinedOutput()
		if err != nil {
			out = fmt.Appendf(out, " (%v)", err)
		}
		answer <- strings.TrimSpace(string(out))
	}()
	return answer
}

// open waits for the only open request of an agent.
func (w *team) open(agent string) keeper.Approval {
	w.T.Helper()
	var found keeper.Approval
	w.eventually("'"+agent+"' asks for something", func() bool {
		var all keeper.Approvals
		if err := json.Unmarshal([]byte(w.Do("approvals", "-j")), &all); err != nil {
			w.T.Fatal(err)
		}
		i := slices.IndexFunc(all.Approvals, func(a keeper.Approval) bool { return a.Agent == agent })
		if i >= 0 {
			found = all.Approvals[i]
		}
		return i >= 0
	})
	return found
}

func (w *team) exists(name string) bool {
	_, err := os.Stat(filepath.Join(w.dir, name))
	return err == nil
}

func (w *team) expect(answer <-chan string, want string) {
	w.T.Helper()
	if got := <-answer; got != want {
		w.T.Errorf("the agent says %q, want %q", got, want)
	}
}

// card selects the card of a request.
func card(id string) string {
	return fmt.Sprintf(`document.querySelector('.request[data-id="%s"]')`, id)
}

// press presses a button of a request, once a click counts.
func (p *tab) pressOn(id, button string) {
	p.t.Helper()
	p.until(card(id) + ` && document.getElementById("attention").dataset.armed === "yes"`)
	p.eval(fmt.Sprintf(`[...%s.querySelectorAll("button")].find(b => b.textContent === %q).click()`, card(id), button), nil)
}

// People decide on the page: what is approved runs, what is denied does not,
// and what nobody decides in time is told.
func TestDecisionsOnThePage(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	p := w.browse(1200, 900)
	p.expected = "Failed to load resource" // the refusals that are asked for below

	// A command is shown in full, as what it is.
	command := "touch approved # <img src=x onerror=alert(1)> \u202e"
	answer := w.ask("coder", "run "+command)
	id := w.open("coder").ID
	p.until(card(id))
	var shown struct{ Command, Text string }
	p.eval(fmt.Sprintf(`(c => ({Command: c.querySelector("pre.command").textContent, Text: c.innerText}))(%s)`, card(id)), &shown)
	if shown.Command != strings.ReplaceAll(command, "\u202e", `\u{202e}`) {
		t.Errorf("shown: %q", shown.Command)
	}
	for _, want := range []string{"coder", "execute", "because", "expires in", "Approve", "Deny", "Always approve", "Always deny"} {
		if !strings.Contains(shown.Text, want) {
			t.Errorf("the card lacks %q:\n%s", want, shown.Text)
		}
	}
	var images int
	p.eval(`document.querySelectorAll(".request img").length`, &images)
	if images > 0 {
		t.Error("a command became part of the page")
	}
	p.until(`document.getElementById("waits").textContent === "1 waits for you" && document.title.startsWith("(1)")`)
	p.shoot("request")
	p.pressOn(id, "Approve")
	p.until(card(id) + `.dataset.state === "approved"`)
	w.expect(answer, "ran")
	if !w.exists("approved") {
		t.Error("what was approved did not run")
	}

	answer = w.ask("coder", "run touch denied")
	id = w.open("coder").ID
	p.until(card(id))
	p.eval(card(id)+`.querySelector("input").value = "use the other one"`, nil)
	p.pressOn(id, "Deny")
	p.until(card(id) + `.dataset.state === "denied"`)
	w.expect(answer, "did not")
	if w.exists("denied") {
		t.Error("what was denied ran")
	}

	answer = w.ask("coder", "run touch always")
	p.pressOn(w.open("coder").ID, "Always approve")
	w.expect(answer, "ran")
	w.expect(w.ask("coder", "run touch always"), "ran") // it asks nobody

	w.expect(w.ask("hasty", "run touch expired"), "did not")
	p.until(`[...document.querySelectorAll(".request, #recent li")].some(e => /hasty.*touch expired.*expired/is.test(e.textContent))`)
	if w.exists("expired") {
		t.Error("what expired ran")
	}
	w.decidedElsewhere(p)
	p.shoot("decided")
	w.checkAudit(`"event":"approved"`, `"event":"denied"`, `"by":"web page of tester"`, `"why":"use the other one"`)
}

// decidedElsewhere: who is too late, or decides what is not there, is told.
func (w *team) decidedElsewhere(p *tab) {
	t := w.T
	t.Helper()
	answer := w.ask("coder", "run touch late")
	id := w.open("coder").ID
	p.until(card(id) + ` && document.getElementById("attention").dataset.armed === "yes"`)
	p.eval(`window.lateButton = `+card(id)+`.querySelector(".approve")`, nil)
	w.Do("approvals", "deny", id, "--why", "I was faster")
	p.eval(`window.lateButton.click()`, nil)
	p.until(card(id) + `.dataset.state === "denied" && /Denied by/.test(` + card(id) + `.innerText)`)
	w.expect(answer, "did not")
	if w.exists("late") {
		t.Error("what was denied ran")
	}
	for approval, want := range map[string]string{id: "it was denied by", "nosuch": "there is none"} {
		var said string
		p.eval(fmt.Sprintf(`import("/assets/wire.js").then(m => m.send("/api/decisions", {agent: "coder", id: %q, option: "approve"})).then(() => "decided", (err) => err.message)`, approval), &said)
		if !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", approval, said, want)
		}
	}
}

// checkAudit demands that the audit log of coder has these texts.
func (w *team) checkAudit(texts ...string) {
	w.T.Helper()
	logs, err := filepath.Glob(filepath.Join(w.dir, ".den", "minds", "coder", "permission", "audit.jsonl"))
	if err != nil || len(logs) != 1 {
		w.T.Fatalf("audit logs: %v, %v", logs, err)
	}
	if _, damaged, err := permission.ReadAudit(filepath.Dir(logs[0])); err != nil || damaged > 0 {
		w.T.Errorf("%d damaged lines, %v", damaged, err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		w.T.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(string(data), text) {
			w.T.Errorf("the audit log lacks %s:\n%s", text, data)
		}
	}
}

// An agent that has the page's address, with its token, does not get to
// decide: neither openly nor from a process that hides whose it is.
func TestAgentDoesNotDecideOnThePage(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	answer := w.ask("coder", "run touch stolen")
	id := w.open("coder").ID
	for _, verb := range []string{"decide", "decide-hidden"} {
		got := <-w.ask("thief", fmt.Sprintf("%s %s coder %s", verb, w.server.URL(), id))
		if !strings.HasPrefix(got, "403 ") || !strings.Contains(got, "does not decide what agents may do") {
			t.Errorf("%s: %s", verb, got)
		}
	}
	if again := w.open("coder").ID; again != id {
		t.Errorf("%s is decided", id)
	}
	// The same request of a process that is no agent's is carried out.
	status, body := do(t, w.visitor(), w.decision(fmt.Sprintf(`{"agent":"coder","id":%q,"option":"deny"}`, id)))
	if status != 200 || !strings.Contains(body, `"state":"denied"`) {
		t.Errorf("%d %s", status, body)
	}
	w.expect(answer, "did not")
	if w.exists("stolen") {
		t.Error("the agent decided")
	}
	if text := w.Do("attention"); strings.Contains(text, "approval") {
		t.Errorf("%s", text)
	}
}
