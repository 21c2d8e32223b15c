package screen

import (
	"slices"
	"strings"
	"testing"

	"den/internal/agent/conversation"
)

// What recorded screens of real programs tell.
func TestStateOfRecordedScreens(t *testing.T) {
	prompts := map[string]string{"claude": "❯ ", "codex": "› ", "copilot": "❯ ", "gemini": "> ", "opencode": ""}
	for _, c := range []struct {
		vendor, screen string
		want           conversation.Activity
		kind           conversation.QuestionKind
		text           string
		options        int
	}{
		{"claude", "claude-first", conversation.Asking, conversation.Dialog, "", 2},
		{"claude", "claude-after-trust", conversation.Asking, conversation.Dialog, "Do you want to use this API key?", 2},
		{"claude", "claude-bypass", conversation.Asking, conversation.Dialog, "", 2},
		{"claude", "claude-ready", conversation.Ready, "", "", 0},
		{"claude", "claude-busy", conversation.Busy, "", "", 0},
		{"claude", "claude-interrupted", conversation.Ready, "", "", 0},
		{"claude", "claude-permission-default-mode", conversation.Asking, conversation.Permission, "make x2\ntouch /home/user/tuiproj/x2\nDo you want to proceed?", 4},
		{"claude", "claude-question", conversation.Asking, conversation.Choice, "Which colour?", 4},
		{"claude", "claude-edit", conversation.Asking, conversation.Permission, "Create file\n../../x/hello.txt\n1 one\n2 two\nDo you want to create hello.txt?", 3},
		{"codex", "codex-git-first", conversation.Asking, conversation.Dialog, "", 2},
		{"codex", "codex-new-model", conversation.Asking, conversation.Dialog, "", 2},
		{"codex", "codex-ready", conversation.Ready, "", "", 0},
		{"codex", "codex-interrupted", conversation.Ready, "", "", 0},
		{"codex", "codex-approval", conversation.Asking, conversation.Permission, "Would you like to run the following command?\nEnvironment: local\nReason: x\n$ touch zz", 3},
		{"codex", "codex-plan", conversation.Asking, conversation.Plan, "Implement this plan?", 3},
		{"codex", "codex-question", conversation.Asking, conversation.Choice, "Question 1/1\nWhich colour?", 3},
		{"codex", "codex-questions", conversation.Asking, conversation.Choice, "Question 1/2\nWhich colour?", 3},
		{"copilot", "copilot-first", conversation.Asking, conversation.Dialog, "Do you trust the files in this folder?", 3},
		{"copilot", "copilot-ready", conversation.Ready, "", "", 0},
		{"copilot", "copilot-busy", conversation.Busy, "", "", 0},
		{"copilot", "copilot-begins", conversation.Busy, "", "", 0},
		{"copilot", "copilot-permission", conversation.Asking, conversation.Permission, "touch zz\nDo you want to run this command?", 3},
		{"copilot", "copilot-permission-first-of-two", conversation.Asking, conversation.Permission, "make a file\ntouch one\nDo you want to run this command?", 3},
		{"gemini", "gemini-first", conversation.Ready, "", "", 0},
		{"gemini", "gemini-ready", conversation.Ready, "", "", 0},
		{"gemini", "gemini-busy", conversation.Busy, "", "", 0},
		{"gemini", "gemini-interrupted", conversation.Ready, "", "", 0},
		{"gemini", "gemini-permission", conversation.Asking, conversation.Permission, "touch zz\nAllow execution of [Shell]?", 3},
		{"opencode", "opencode-permission", conversation.Busy, "", "", 0}, // it works; the question comes next
		{"opencode", "opencode-after", conversation.Asking, conversation.Permission, "Permission required\n# Shell command\n$ touch zz", 3},
		{"opencode", "opencode-always", conversation.Asking, conversation.Permission, "Always allow\nThis will allow the following patterns until OpenCode is restarted\n- touch *", 2},
	} {
		s := profileOf(c.vendor).stateOf(screenOf(t, c.screen), prompts[c.vendor])
		if s.Activity != c.want || (s.Question != nil) != (c.kind != "") {
			t.Errorf("%s: %s (%s), question %+v", c.screen, s.Activity, s.Why, s.Question)
			continue
		}
		q := s.Question
		if q != nil && (q.Kind != c.kind || !strings.Contains(q.Text, c.text) || len(q.Options) != c.options || q.ID == "") {
			t.Errorf("%s: %+v", c.screen, q)
		}
	}
}

// Turns that ended in an error, as real programs showed them.
func TestFailuresOnRecordedScreens(t *testing.T) {
	for _, c := range []struct{ vendor, prompt, screen, want string }{
		{"claude", "❯ ", "claude-failed-limit", "API Error: Request rejected (429) · stub: Too Many Requests"},
		{"claude", "❯ ", "claude-failed-login", "Please run /login · API Error: 403 stub: Forbidden"},
		{"claude", "❯ ", "claude-failed-model", "There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it. Run /model to pick a different model."},
		{"claude", "❯ ", "claude-failed-credit", "Credit balance too low · Add funds: https://platform.claude.com/settings/billing"},
		{"claude", "❯ ", "claude-failed-server", "API Error: 500 stub: Internal Server Error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:80800)."},
		{"claude", "❯ ", "claude-failed-cut", "API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again."},
		{"copilot", "❯ ", "copilot-failed-login", "Authentication failed with provider at http://127.0.0.1:80800/v1 (HTTP 401). Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN."},
		{"copilot", "❯ ", "copilot-failed-cut", "Failed to get response from the AI model; retried 5 times (total retry wait time: 5.00 seconds) Last error: Failed native model HTTP request: error decoding response body: error reading a body from connection: unexpected EOF durin chunk size line"},
		{"gemini", "> ", "gemini-failed-refused", `[API Error: {"error":{"code":400,"message":"stub: Bad Request","status":"UNAVAILABLE"}}]`},
		{"gemini", "> ", "gemini-failed-login", `[API Error: {"error":{"code":401,"message":"stub: Unauthorized","status":"UNAVAILABLE"}}]`},
		{"gemini", "> ", "gemini-failed-cut", "[API Error: terminated]"},
	} {
		p := profileOf(c.vendor)
		screen := screenOf(t, c.screen)
		if s := p.stateOf(screen, c.prompt); s.Activity != conversation.TurnFailed || s.Why != c.want {
			t.Errorf("%s: %s, %q", c.screen, s.Activity, s.Why)
		}
		// The next turn went well.
		lines := strings.Split(screen, "\n")
		at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, c.want[:20]) })
		lines[at] += "\n" + c.prompt + "once more\n● It is done.\n"
		if s := p.stateOf(strings.Join(lines, "\n"), c.prompt); s.Activity != conversation.Ready {
			t.Errorf("%s and another turn: %s, %q", c.screen, s.Activity, s.Why)
		}
	}
}

// Where a source tells of no failure the screen does, and not where it does.
func TestFailuresThatNoSourceTells(t *testing.T) {
	for _, c := range []struct {
		vendor, prompt, screen string
		told, want             conversation.Activity
	}{
		{"gemini", "> ", "gemini-failed-login", conversation.Ready, conversation.TurnFailed},
		{"gemini", "> ", "gemini-failed-login", conversation.Busy, conversation.Busy},
		{"gemini", "> ", "gemini-answered", conversation.Ready, conversation.Ready},
		{"gemini", "> ", "gemini-interrupted", conversation.Ready, conversation.Ready},
		{"claude", "❯ ", "claude-failed-login", conversation.Ready, conversation.Ready},
	} {
		s := seen{State: conversation.State{Activity: c.told}}
		profileOf(c.vendor).complete(&s, screenOf(t, c.screen), c.prompt)
		if s.Activity != c.want || (s.Why != "") != (c.want == conversation.TurnFailed) {
			t.Errorf("%s, %s: %+v", c.screen, c.told, s.State)
		}
	}
}

// A question stays itself while its cursor moves, and differs from the next.
func TestQuestionIDs(t *testing.T) {
	p := profileOf("claude")
	const one = "Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
	const moved = "Do you want to proceed?\n   1. Yes\n ❯ 2. No\n\n Esc to cancel"
	const other = "Bash: rm x\nDo you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
	id := func(screen string) string { return p.question(screen).ID }
	if id(one) != id(moved) || id(one) == id(other) {
		t.Errorf("%s %s %s", id(one), id(moved), id(other))
	}
}

// An option that goes on in a second row is told whole; what another column
// says of one is set apart.
func TestOptionsAreWhole(t *testing.T) {
	for _, c := range []struct {
		vendor, screen string
		option         int
		want           string
	}{
		{"claude", "claude-edit", 1, "Yes, and switch to accept edits (auto-approve file edits and common file commands) for this session; Yes, and always allow access to /tmp/x for this session (shift+tab)"},
		{"claude", "claude-question", 0, "Red"},
		{"claude", "claude-question", 3, "Chat about this"},
		{"codex", "codex-plan", 0, "Yes, implement this plan · Switch to Default and start coding"},
	} {
		if q := profileOf(c.vendor).question(screenOf(t, c.screen)); q == nil || len(q.Options) <= c.option || q.Options[c.option].Label != c.want {
			t.Errorf("%s: %+v", c.screen, q)
		}
	}
	// The cursor behind the line that parts options is a cursor in the menu.
	moved := strings.NewReplacer("❯ 1. Red", "  1. Red", "  4. Chat", "❯ 4. Chat").Replace(screenOf(t, "claude-question"))
	q, was := profileOf("claude").question(moved), profileOf("claude").question(screenOf(t, "claude-question"))
	if q == nil || q.ID != was.ID || len(q.Options) != 4 {
		t.Errorf("%+v, was %+v", q, was)
	}
}

// A composer that holds only its program's hint is empty; a text is not.
func TestEmptyComposers(t *testing.T) {
	for _, c := range []struct{ vendor, prompt, screen string }{
		{"claude", "❯ ", "claude-ready"}, {"claude", "❯ ", "claude-busy"}, {"claude", "❯ ", "claude-interrupted"},
		{"codex", "› ", "codex-ready"}, {"codex", "› ", "codex-busy"}, {"codex", "› ", "codex-first"},
		{"copilot", "❯ ", "copilot-ready"}, {"copilot", "❯ ", "copilot-busy"},
		{"gemini", "> ", "gemini-first"}, {"gemini", "> ", "gemini-busy"},
		{"opencode", "", "opencode-permission"},
	} {
		p := profileOf(c.vendor)
		if at := p.findComposer(screenOf(t, c.screen), c.prompt); at == nil || !p.empty(at) {
			t.Errorf("%s: %+v", c.screen, at)
		}
	}
	for vendor, screen := range map[string]string{
		"claude":   "────\n❯ half a\n  thought\n────\n  status",
		"opencode": "  ┃\n  ┃  half a\n  ┃  thought\n  ┃\n  ┃  Build · Stub Model\n  ╹▀▀▀▀\n   tab agents",
	} {
		p := profileOf(vendor)
		at := p.findComposer(screen, "❯ ")
		if at == nil || p.empty(at) || at.text != "half a thought" || !p.holds(at, "half a\nthought") {
			t.Errorf("%s: %+v", vendor, at)
		}
	}
}
