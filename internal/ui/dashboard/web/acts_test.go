package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/keeper"
	"den/internal/ui/dashboard/web"
)

// agentSession is the session in which an agent lives, for den's verbs.
func (w *team) agentSession(name string) string {
	w.T.Helper()
	return w.status(name).DenSession
}

func (w *team) status(name string) keeper.AgentStatus {
	w.T.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(w.Do("ps", "-j")), &ps); err != nil {
		w.T.Fatal(err)
	}
	for _, a := range ps.Agents {
		if a.Name == name {
			return a
		}
	}
	w.T.Fatalf("no agent %s", name)
	return keeper.AgentStatus{}
}

// audited returns the audit log of what was done on pages.
func (w *world) audited() (all []web.AuditEntry) {
	w.T.Helper()
	data, err := os.ReadFile(w.Home.PageActions())
	if err != nil {
		w.T.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e web.AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.T.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// checkAudited demands that each of these was asked for and ended so.
func (w *world) checkAudited(event, action, agent, detail string) {
	w.T.Helper()
	for _, e := range w.audited() {
		if e.V == 1 && e.Event == event && e.Action == action && e.Agent == agent && strings.Contains(e.Detail, detail) && e.By == "web page of tester" && !e.At.IsZero() {
			return
		}
	}
	w.T.Errorf("the audit log lacks %s %s %s %s: %+v", event, action, agent, detail, w.audited())
}

// A person types into a session on the page, as in an attached terminal.
func TestTakeOverOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", allowActions)
	w.Do("new", "sh", "--cols", "60", "--rows", "12", "cat")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.until(`document.getElementById("text").children.length === 12`)
	p.press("i")
	p.until(`document.body.dataset.taken === "yes" && document.activeElement.id === "typing"`)
	if tree := p.accessible(); !strings.Contains(tree, "textbox: Terminal of sh: what you type goes to its program") || !strings.Contains(tree, "group: Act on this session") {
		t.Errorf("a screen reader is not told:\n%s", tree)
	}
	p.shoot("taken")
	p.press("w", "o", "r", "d", "s", " ", "t", "?", "Backspace", "Enter") // t and ? are keys of the page, too
	p.until(text + `.includes("words t\nwords t")`)
	p.eval(`(d => { d.setData("text/plain", "pasted"); document.getElementById("typing").dispatchEvent(new ClipboardEvent("paste", { clipboardData: d, bubbles: true, cancelable: true })); })(new DataTransfer())`, nil)
	p.press("Enter")
	p.until(text + `.includes("pasted\npasted")`)
	p.must(p.page.Call(within(t), "Input.insertText", map[string]any{"text": "übung"}, nil)) // as a keyboard of another language does
	p.press("Enter")
	p.until(text + `.includes("übung\nübung")`)
	if out := w.Do("status", "sh", "-j"); !strings.Contains(out, `"attached":1`) {
		t.Errorf("nobody is attached:\n%s", out)
	}
	// The keys that leave are not the program's, unless something else follows.
	p.must(p.page.PressControl(within(t), `\`))
	p.must(p.page.PressControl(within(t), `\`))
	p.until(`document.body.dataset.taken === undefined && document.activeElement.id === "screen"`)
	p.press("?") // a key of the page again
	p.until(`document.getElementById("help").open`)
	p.press("Escape")
	p.until(`!document.getElementById("help").open`)
	w.checkAudited("asked", "take_over", "", "")
	w.checkAudited("done", "take_over", "", "")
	w.eventually("the end is written down", func() bool {
		all := w.audited()
		last := all[len(all)-1]
		return last.Event == "left" && last.Inputs > 10 && last.Session == w.Dir("sh").ID
	})
	// Ctrl-C reaches the program, whose end is told.
	p.eval(`document.getElementById("take").click()`, nil)
	p.until(`document.body.dataset.taken === "yes"`)
	p.must(p.page.PressControl(within(t), "c"))
	p.until(`document.body.dataset.taken === undefined && /has ended/.test(document.getElementById("doing").textContent)`)
}

// What a cell asks is answered on the page, and a session is stopped there.
func TestAnswerAndStopOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", allowActions)
	w.Do("new", "work", "bash", "--norc")
	w.Do("fire", "work", `read -p "go on? " a; echo "got $a"`)
	p := w.browse(1200, 800)
	id := w.Dir("work").ID
	p.openSession(id)
	p.until(`!document.getElementById("asked").hidden && document.querySelector("#asked b").textContent === "go on?"`)
	p.shoot("asked")
	p.eval(`document.querySelector("#asked input").focus()`, nil)
	p.press("y", "e", "s", "Enter")
	p.until(text + `.includes("got yes") && document.getElementById("asked").hidden`)
	w.checkAudited("done", "answer", "", "go on?")
	for _, e := range w.audited() {
		if strings.Contains(fmt.Sprint(e), "yes") {
			t.Errorf("the answer, which may be a secret, is written down: %+v", e)
		}
	}
	p.eval(`document.getElementById("halt").click()`, nil)
	p.until(`document.getElementById("stopping").open`)
	p.eval(`document.querySelector("#halt-form button[value=no]").click()`, nil)
	p.until(`!document.getElementById("stopping").open`)
	p.eval(`document.getElementById("halt").click()`, nil)
	p.eval(`document.querySelector("#halt-form button[value=stop]").click()`, nil)
	p.until(`document.getElementById("facts").innerText.includes("killed by") || document.getElementById("facts").innerText.includes("destroyed")`)
	p.until(`document.getElementById("take").hidden`)
	w.checkAudited("done", "stop", "", "")
}

// Agents get messages and answers on the page, and are stopped and started there.
func TestActOnAgentsOnThePage(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	p := w.browse(1200, 900)
	p.openSession(w.Dir(w.agentSession("tui")).ID)
	p.until(`!document.getElementById("message").hidden`)
	p.press("m")
	p.until(`document.activeElement.id === "message-text"`)
	p.must(p.page.Call(within(t), "Input.insertText", map[string]any{"text": "do it"}, nil))
	p.shoot("message")
	p.press("Enter")
	// It opens a menu: its options are buttons.
	p.until(`document.querySelectorAll("#asked button").length === 3`)
	p.shoot("options")
	p.eval(`document.querySelectorAll("#asked button")[2].click()`, nil)
	p.until(text + `.includes("chose No")`)
	w.checkAudited("done", "message", "tui", "do it")
	w.checkAudited("done", "answer", "tui", "3")

	p.eval(`document.getElementById("halt").click()`, nil)
	p.until(`document.getElementById("stopping").open && document.getElementById("halt-title").textContent === "Stop agent tui?"`)
	p.eval(`document.querySelector("#halt-form button[value=stop]").click()`, nil)
	w.eventually("it is stopped", func() bool { return w.status("tui").Actual == keeper.Stopped })
	p.until(`document.getElementById("halt").textContent === "Start agent"`)
	p.eval(`document.getElementById("halt").click()`, nil)
	w.eventually("it runs again", func() bool { return w.status("tui").Actual == keeper.Running })
	w.checkAudited("done", "order", "tui", "stop")
	w.checkAudited("done", "order", "tui", "start")
	log := w.Do("agent", "logs", "tui")
	for _, want := range []string{"message", "stop", "start"} {
		if !strings.Contains(log, "agent.acted") || !strings.Contains(log, want) {
			t.Errorf("the keeper's events lack %s:\n%s", want, log)
		}
	}
}

// Each action needs what a decision needs: none is carried out for another page,
// or without the token, or where the page only shows.
func TestForgedActionsAreRefused(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"answers": `{"agent":"a","question":"q","option":1}`, "messages": `{"agent":"a","text":"x"}`, "orders": `{"agent":"a","order":"stop"}`,
		"cells": `{"session":"s","question":"q","text":"x"}`, "stops": `{"session":"s"}`,
	}
	file := filepath.Join(t.TempDir(), "den.toml")
	acting, showing := newWorld(t, file, allowActions), newWorld(t, file)
	post := func(w *world, what, body string, change func(*http.Request)) int {
		r := w.decision(body)
		r.URL.Path = "/api/" + what
		change(r)
		status, _ := do(t, w.visitor(), r)
		return status
	}
	as := func(*http.Request) {}
	for what, body := range bodies {
		if status := post(showing, what, body, as); status != http.StatusNotFound {
			t.Errorf("%s without --allow-actions: %d", what, status)
		}
		for name, test := range map[string]struct {
			change func(*http.Request)
			want   int
		}{
			"another page": {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
			"no origin":    {func(r *http.Request) { r.Header.Del("Origin") }, http.StatusForbidden},
			"cross-site":   {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
			"a form":       {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusUnsupportedMediaType},
		} {
			if status := post(acting, what, body, test.change); status != test.want {
				t.Errorf("%s: %s: %d, want %d", what, name, status, test.want)
			}
		}
		if status := post(acting, what, body, as); status != http.StatusServiceUnavailable && status != http.StatusNotFound {
			t.Errorf("%s as the page asks: %d", what, status) // no keeper, no session
		}
		for _, wrong := range []string{`{}`, `{"agent":"","text":"","session":""}`, body + body, `nonsense`} {
			if status := post(acting, what, wrong, as); status != http.StatusBadRequest {
				t.Errorf("%s of %s: %d", what, wrong, status)
			}
		}
	}
	for name, w := range map[string]*world{"another page": acting, "not allowed": showing} {
		r, err := http.NewRequest(http.MethodGet, w.root()+"take/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "http://evil.example")
		if status, _ := do(t, w.visitor(), r); status != http.StatusForbidden {
			t.Errorf("take over, %s: %d", name, status)
		}
	}
}

// An agent that has the page's address can neither send a message in a person's
// name nor take a terminal over.
func TestAgentDoesNotActOnThePage(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	id := w.Dir(w.agentSession("tui")).ID
	for _, what := range []string{
		`messages {"agent":"tui","text":"obey"}`, `orders {"agent":"tui","order":"stop"}`, fmt.Sprintf(`cells {"session":%q,"question":"","text":"x"}`, id),
	} {
		for _, verb := range []string{"post", "post-hidden"} {
			got := <-w.ask("thief", fmt.Sprintf("%s %s %s", verb, w.server.URL(), what))
			if !strings.HasPrefix(got, "403 ") {
				t.Errorf("%s %s: %s", verb, what, got)
			}
		}
	}
	w.checkAudited("failed", "message", "tui", "obey")
	if s := w.status("tui"); s.Wanted != keeper.Running || s.Nudges > 0 {
		t.Errorf("%+v", s)
	}
}
