package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/testkit/browser"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
	"den/internal/testkit/need"
)

// A fleet is a workspace of eight agents, five of them real coding agents, and
// people who watch it: in ls, in ps, on the page and in the terminal dashboard.
type fleet struct {
	*kept
	stub  *modelstub.Server
	homes map[string]*realcli.Home
	ctx   context.Context
	page  *browser.Page
	tui   *person
	goOn  chan struct{} // lets the model end codex' turn
}

func stateAgentNamed(name string) stateAgent {
	return stateAgents[slices.IndexFunc(stateAgents, func(a stateAgent) bool { return a.name == name })]
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	if _, err := browser.Path(); err != nil {
		need.Missing(t, "%v", err)
	}
	stub := modelstub.Start(t)
	f := &fleet{stub: stub, homes: map[string]*realcli.Home{}, goOn: make(chan struct{})}
	var file strings.Builder
	file.WriteString("[workspace]\nname = \"fleet\"\n")
	for _, name := range []string{"claude", "codex", "opencode", "gemini"} {
		a := stateAgentNamed(name)
		f.homes[name] = a.home(t, stub)
		file.WriteString("\n" + agentTable(realAgent{name: name, args: append([]string{}, a.args...)}, f.homes[name]))
		initRepository(t, f.homes[name].Work)
	}
	coder := realcli.Claude(t, stub)
	f.homes["coder"] = coder
	fmt.Fprintf(&file, "\n[[agents]]\nname = \"coder\"\nagent = \"claude\"\ndir = %q\n", coder.Work)
	writeEnv(&file, coder)
	for name, command := range map[string]string{"shell": `["bash", "--norc"]`, "crash": `["sh", "-c", "echo panic; exit 3"]`, "task": `["sh", "-c", "echo finished"]`} {
		fmt.Fprintf(&file, "\n[[agents]]\nname = %q\nstart_command = %s\ndir = %q\nrestart = { policy = \"never\" }\n", name, command, t.TempDir())
	}
	f.kept = keepWorkspace(t, "coder", coder, file.String())
	f.script()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	f.ctx = ctx
	return f
}

// script is what the model does with each message.
func (f *fleet) script() {
	asks := func(agent, text string) modelstub.Match {
		return modelstub.All(modelstub.Contains(text), modelstub.Offers(stateAgentNamed(agent).tool))
	}
	use := func(agent, file string) modelstub.Reply {
		a := stateAgentNamed(agent)
		return modelstub.Use(a.tool, fmt.Sprintf(a.input, file))
	}
	f.stub.When(asks("claude", "make by-screen"), use("claude", "by-screen"), modelstub.Say("It is made."))
	f.stub.When(asks("claude", "make by-page"), use("claude", "by-page"), modelstub.Say("It is made."))
	f.stub.When(asks("codex", "think long"), modelstub.Reply{Text: []string{"I begin. ", "I am done."}, Hold: f.goOn})
	f.stub.When(asks("opencode", "say hello"), modelstub.Say("Hello."))
}

// watch opens the page, with notifications, and the terminal dashboard.
func (f *fleet) watch(t *testing.T) {
	t.Helper()
	d := f.serveWeb("--allow-actions", "--file", f.file)
	b, err := browser.Start(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("end the browser: %v", err)
		}
	})
	if f.page, err = b.Open(f.ctx, strings.TrimSpace(d.line), 1400, 1000); err != nil {
		t.Fatal(err)
	}
	// The browser has no desktop to notify: what it is told is kept.
	f.eval(`window.told = []; window.Notification = class { static permission = "granted"; constructor(title) { window.told.push({ title, at: Date.now() }); } close() {} };
		Object.defineProperty(document, "hidden", { get: () => true }); localStorage.setItem("den-notify", "yes")`, nil)
	f.until(`document.querySelectorAll(".card").length > 0`)
	f.press("a") // those that are over, too
	f.tui = f.sit(160, 50, f.den, "dashboard")
	f.tui.seesText("shell")
	f.tui.types("a")
	// What the dashboard shows beside the list is looked at: let it be one that
	// has no news in this test.
	for deadline := time.Now().Add(statePatience); f.selected() != "shell"; {
		if time.Now().After(deadline) {
			f.t.Fatalf("the shell cannot be selected:\n%s", f.tui.text())
		}
		before := f.selected()
		f.tui.types("j")
		for f.selected() == before && time.Now().Before(deadline) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// selected is the agent whose row the terminal dashboard marks.
func (f *fleet) selected() string {
	for line := range strings.Lines(f.tui.text()) {
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[0], "›") {
			return agentOf(words[1])
		}
	}
	return ""
}

func (f *fleet) eval(expression string, result any) {
	f.t.Helper()
	if err := f.page.Eval(f.ctx, expression, result); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) until(expression string) {
	f.t.Helper()
	if err := f.page.Until(f.ctx, expression); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) press(key string) {
	f.t.Helper()
	if err := f.page.Press(f.ctx, key); err != nil {
		f.t.Fatal(err)
	}
}

type states map[string]attention.State

// inPs is what 'den ps' says.
func (f *fleet) inPs() states {
	f.t.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(f.do("ps", "-j")), &ps); err != nil {
		f.t.Fatal(err)
	}
	s := states{}
	for _, a := range ps.Agents {
		s[a.Name] = a.Attention.State
	}
	return s
}

// agentOf is the agent whose session has this name.
func agentOf(session string) string { return session[strings.LastIndex(session, "-")+1:] }

// A listed session is what 'den ls' says of it.
type listed struct {
	Session   string
	Attention attention.Attention
}

func (f *fleet) list() []listed {
	f.t.Helper()
	var ls struct{ Sessions []listed }
	if err := json.Unmarshal([]byte(f.do("ls", "--all", "-j")), &ls); err != nil {
		f.t.Fatal(err)
	}
	return ls.Sessions
}

// inLs is what 'den ls' says.
func (f *fleet) inLs() states {
	f.t.Helper()
	s := states{}
	for _, l := range f.list() {
		s[agentOf(l.Session)] = l.Attention.State
	}
	return s
}

// onPage is what the cards say; those that are over say no more than that.
func (f *fleet) onPage() states {
	f.t.Helper()
	var cards [][2]string
	f.eval(`[...document.querySelectorAll(".card")].map(c => [c.querySelector("b").textContent, c.querySelector(".need").textContent || "over"])`, &cards)
	s := states{}
	for _, c := range cards {
		s[agentOf(c[0])] = attention.State(c[1])
	}
	return s
}

// inTUI is what the rows of the terminal dashboard say.
func (f *fleet) inTUI() states {
	s := states{}
	for line := range strings.Lines(f.tui.text()) {
		row, _, _ := strings.Cut(line, "│")
		words := strings.Fields(row)
		if len(words) < 2 || strings.HasPrefix(row, "   ") || !strings.Contains("●!◌?✗○", strings.TrimPrefix(words[0], "›")) {
			continue // what a session did last is set back
		}
		name := agentOf(words[1])
		s[name] = ending(strings.HasSuffix(words[0], "!"), words[2:])
		for _, state := range attention.States() {
			if slices.Contains(words[2:], string(state)) {
				s[name] = state
			}
		}
	}
	return s
}

// ending is the state of a row whose program has ended: it says how, with a mark
// while that is news.
func ending(news bool, words []string) attention.State {
	switch {
	case !news:
		return attention.Over
	case slices.Contains(words, "exit") && !slices.Contains(words, "0"):
		return attention.Failed
	}
	return attention.Done
}

// agree waits until every view says so, and returns when each first did.
func (f *fleet) agree(what string, want states) map[string]time.Time {
	f.t.Helper()
	views := map[string]func() states{"ps": f.inPs, "ls": f.inLs, "page": f.onPage, "terminal dashboard": f.inTUI}
	got, agreed := map[string]states{}, map[string]time.Time{}
	for deadline := time.Now().Add(statePatience); len(views) > 0; time.Sleep(5 * time.Millisecond) {
		for name, view := range views {
			if got[name] = view(); maps.Equal(got[name], want) {
				agreed[name] = time.Now()
				delete(views, name)
			}
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s: want %v\nthe views say %v\nthe terminal dashboard:\n%s\nwhat the keeper did:\n%s", what, want, got, f.tui.text(), f.do("agent", "logs", "-j"))
		}
	}
	return agreed
}

// A change is what happens to one agent of the fleet.
type change struct {
	what     string
	agent    string
	to       attention.State
	notifies bool
	// cause makes it happen. The views are looked at meanwhile: it may return
	// long after the change.
	cause func() error
	// seen returns when the change was there, by other means than den's states.
	seen func() time.Time
}

// goes makes a change, waits until every view shows it, and logs how long after
// it each did.
func (f *fleet) goes(want states, c change) {
	f.t.Helper()
	seen := make(chan time.Time, 1)
	go func() { seen <- c.seen() }()
	caused := make(chan error, 1)
	go func() { caused <- c.cause() }()
	want[c.agent] = c.to
	agreed := f.agree(c.what, want)
	if c.notifies {
		agreed["notification"] = f.notified(c.agent)
	}
	if err := <-caused; err != nil {
		f.t.Errorf("%s: %v", c.what, err)
	}
	at := <-seen
	for _, view := range slices.Sorted(maps.Keys(agreed)) {
		f.t.Logf("%s: %s agrees %v after the change", c.what, view, agreed[view].Sub(at).Round(time.Millisecond))
	}
}

// shows returns when the screen of an agent first shows a text, as somebody at
// its terminal sees it.
func (f *fleet) shows(agent, text string) func() time.Time {
	f.t.Helper()
	all := f.list()
	session := all[slices.IndexFunc(all, func(l listed) bool { return agentOf(l.Session) == agent })].Session
	return func() time.Time {
		if out, errOut, code := f.try("wait", session, "--text", text, "-t", statePatience.String()); code != 0 {
			f.t.Errorf("wait for %q of %s: exit %d\n%s%s", text, agent, code, out, errOut)
		}
		return time.Now()
	}
}

// requested returns when the model got a request: what the agent makes of the
// answer comes later.
func (f *fleet) requested(m modelstub.Match) func() time.Time {
	return func() time.Time {
		if _, err := f.stub.Await(f.ctx, m); err != nil {
			f.t.Error(err)
		}
		return time.Now()
	}
}

// notified waits for a notification of the browser about an agent, and returns
// when it came.
func (f *fleet) notified(agent string) time.Time {
	f.t.Helper()
	told := fmt.Sprintf(`window.told.find(t => t.title.endsWith("%s needs you"))`, agent)
	f.until(told + " !== undefined")
	var ms int64
	f.eval(told+".at", &ms)
	return time.UnixMilli(ms)
}

// question is the id of what an agent asks on its screen.
func (f *fleet) question(agent string) string {
	f.t.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(f.do("ps", "-j")), &ps); err != nil {
		f.t.Fatal(err)
	}
	for _, a := range ps.Agents {
		if a.Name == agent && a.Question != nil {
			return a.Question.ID
		}
	}
	f.t.Fatalf("'%s' asks nothing", agent)
	return ""
}

func (f *fleet) made(agent, file string) bool {
	_, err := os.Stat(filepath.Join(f.homes[agent].Work, file))
	return err == nil
}

// Eight agents come into all six states, and every view says the same; what is
// approved on the page is done.
func TestAgentStatesAreSeen(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	f := newFleet(t)
	f.do("up", "--wait", "-t", "3m")
	f.watch(t)
	want := states{
		"claude": attention.Ready, "codex": attention.Ready, "opencode": attention.Ready, "gemini": attention.Ready,
		"coder": attention.Ready, "shell": attention.Ready, "crash": attention.Failed, "task": attention.Done,
	}
	f.agree("up", want)

	den := func(args ...string) func() error {
		return func() error {
			if out, errOut, code := f.try(args...); code != 0 {
				return fmt.Errorf("den %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errOut)
			}
			return nil
		}
	}
	nudge := func(agent, text string) func() error { return den("agent", "nudge", agent, text, "-t", "2m") }
	f.goes(want, change{
		what: "a permission on a screen", agent: "claude", to: attention.Asking, notifies: true,
		cause: nudge("claude", "make by-screen"), seen: f.shows("claude", stateAgentNamed("claude").dialog),
	})
	f.goes(want, change{
		what: "a turn that lasts", agent: "codex", to: attention.Busy,
		cause: nudge("codex", "think long"), seen: f.shows("codex", "esc to interrupt"),
	})
	f.goes(want, change{
		what: "a turn that is over", agent: "opencode", to: attention.Done, notifies: true,
		cause: nudge("opencode", "say hello"), seen: f.shows("opencode", "Hello."),
	})
	f.goes(want, change{
		what: "all six", agent: "task", to: attention.Over,
		cause: den("seen", "task"), seen: time.Now,
	})

	// By protocol: asked, seen, approved on the page, done.
	answer := make(chan string, 1) // room for the one
	byPage := modelstub.Contains("make by-page")
	f.goes(want, change{
		what: "a permission by protocol", agent: "coder", to: attention.Asking, notifies: true,
		cause: func() error {
			go func() {
				out, errOut, code := f.try("agent", "ask", "coder", "make by-page", "-t", "3m")
				answer <- fmt.Sprintf("%s%s (%d)", out, errOut, code)
			}()
			return nil
		},
		seen: f.requested(byPage),
	})
	f.until(`document.querySelector(".request") && document.getElementById("attention").dataset.armed === "yes"`)
	f.goes(want, change{
		what: "approved on the page", agent: "coder", to: attention.Ready, // who asked was told
		cause: func() error {
			return f.page.Eval(f.ctx, `[...document.querySelectorAll(".request button")].find(b => b.textContent === "Approve").click()`, nil)
		},
		seen: f.requested(modelstub.All(byPage, func(r *modelstub.Request) bool { return len(r.Results) > 0 })),
	})
	if got := <-answer; !strings.HasPrefix(got, "It is made.") {
		t.Errorf("the agent says %s", got)
	}

	question := f.question("claude")
	f.goes(want, change{
		what: "answered", agent: "claude", to: attention.Done,
		cause: den("agent", "answer", "claude", question, "1"), seen: f.shows("claude", "It is made."),
	})
	if !f.made("coder", "by-page") || !f.made("claude", "by-screen") {
		t.Errorf("made: %v by the coder, %v by claude", f.made("coder", "by-page"), f.made("claude", "by-screen"))
	}
	f.goes(want, change{
		what: "the long turn is over", agent: "codex", to: attention.Done,
		cause: func() error { close(f.goOn); return nil }, seen: f.shows("codex", "I am done."),
	})
	f.do("down", "-t", "1m")
}
