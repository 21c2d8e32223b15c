package screen

import (
	"os"
	"strings"
	"testing"
)

func screenOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/screens/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The dialogs of real programs, as they drew them.
func TestKnownDialogs(t *testing.T) {
	for _, c := range []struct {
		screen, dialog string
		chosen, target int
	}{
		{"claude-first", "trust folder", 0, 1},
		{"claude-after-trust", "API key", 1, 0},
		{"claude-bypass", "bypass permissions", 0, 1},
		{"codex-git-first", "trust folder", 0, 0},
		{"codex-new-model", "new model", 0, 1},
		{"copilot-first", "trust folder", 0, 0},
	} {
		s := profileOf("").detectDialog(screenOf(t, c.screen))
		if s == nil || !s.known() {
			t.Errorf("%s: not known: %+v", c.screen, s)
			continue
		}
		if s.dialog.name != c.dialog || s.menu.chosen != c.chosen || s.target != c.target {
			t.Errorf("%s: %s, from %d to %d of %q", c.screen, s.dialog.name, s.menu.chosen, s.target, s.menu.options)
		}
	}
}

// Dialogs that are known by report, drawn as their programs draw menus.
func TestReportedDialogs(t *testing.T) {
	for name, c := range map[string]struct {
		screen         string
		chosen, target int
	}{
		"bypass permissions": {"WARNING: Claude Code running in Bypass Permissions mode\n\n ❯ 1. No, exit\n   2. Yes, I accept\n\n Enter to confirm · Esc to exit\n", 0, 1},
		"trust folder":       {"│ Do you trust the files in this folder?      │\n│                                    │\n│ ● 1. Trust folder (x)              │\n│   2. Trust parent folder (y)       │\n│   3. Don't trust                   │\n", 0, 0},
		"MCP servers":        {"New MCP server found in .mcp.json: x\n\n ❯ 1. Use this and all future MCP servers in this project\n   2. Use this MCP server\n   3. Continue without using this MCP server\n\n Enter to confirm · Esc to cancel", 0, 1},
	} {
		s := profileOf("").detectDialog(c.screen)
		if s == nil || !s.known() || s.dialog.name != name || s.menu.chosen != c.chosen || s.target != c.target {
			t.Errorf("%s: %+v", name, s)
		}
	}
	pi := profileOf("").detectDialog("Trust project folder?\n\n→ Yes\n  No\n\nenter to select · esc to cancel")
	if pi == nil || !pi.known() || pi.target != 0 {
		t.Errorf("pi: %+v", pi)
	}
}

// A dialog whose menu is not known row by row is seen, and left alone.
func TestUnknownLayouts(t *testing.T) {
	for name, screen := range map[string]string{
		"a new option":   "Quick safety check: trust this folder?\n ❯ No, exit\n   Yes, I trust this folder\n   Yes, and upload it\n Enter to confirm",
		"no refusal":     "Quick safety check\n ❯ Yes\n   Yes, proceed\n Enter to confirm",
		"only refusals":  "Quick safety check\n ❯ No\n   No, exit\n Enter to confirm",
		"letters":        "Workspace Trust Required\n [a] Trust this workspace\n [q] Quit\n Press Enter to continue",
		"no cursor seen": "Quick safety check\n   No, exit\n   Yes, I trust this folder\n Enter to confirm",
	} {
		s := profileOf("").detectDialog(screen)
		if s == nil || s.known() || s.why == "" {
			t.Errorf("%s: %+v", name, s)
		}
		if !profileOf("").asks(screen) {
			t.Errorf("%s: a nudge would be typed into it", name)
		}
	}
}

// What agents ask while they work is no start-up dialog, and no place to type.
func TestQuestionsAreSeen(t *testing.T) {
	for _, name := range []string{"claude-permission-default-mode", "claude-question", "codex-approval", "copilot-permission", "gemini-permission", "opencode-after"} {
		screen := screenOf(t, name)
		if s := profileOf("").detectDialog(screen); s != nil {
			t.Errorf("%s is taken for %s", name, s.dialog.name)
		}
		if !profileOf("").asks(screen) {
			t.Errorf("%s: the question is not seen", name)
		}
	}
}

// Ordinary screens and plain words never look like a dialog.
func TestOrdinaryScreens(t *testing.T) {
	screens := map[string]string{
		"rate limit":  "● The API answered: rate limit. Usage limit reached. Do you want to use this API key?\n\n❯ \n",
		"quoted":      "● The dialog says:\n  Quick safety check\n  ❯ No, exit\n    Yes, I trust this folder\n  Enter to confirm\n\n──────\n❯ \n──────\n  auto mode on · esc to interrupt",
		"two lines":   "I read about trust this folder\n──────\n❯ first line\n  second line\n──────\n  ⏵⏵ auto mode on · esc to interrupt",
		"shell":       "$ cat dialog.txt\nDo you trust the files in this folder?\nYes or No\n$ ",
		"numbers":     "$ cat list\n> quoted mail\n1. one\n2. two\n$ ",
		"answered":    "Quick safety check\n   No, exit\n ❯ Yes, I trust this folder\n\n Enter to confirm\n welcome\n❯ ",
		"long ago":    "Quick safety check\n   No, exit\n ❯ Yes, I trust this folder\n\n Enter to confirm\nline\nline\nline\n",
		"empty":       "",
		"box":         "╭──╮\n│  │\n╰──╯",
		"bullet list": "● Done:\n  trust this folder is set\n  all is well\n\n❯ Try \"fix lint errors\"\n  ? for shortcuts",
	}
	for _, name := range []string{"claude-ready", "claude-busy", "codex-first", "codex-busy", "copilot-busy", "gemini-first", "gemini-busy", "opencode-permission"} {
		screens[name] = screenOf(t, name)
	}
	for name, screen := range screens {
		if s := profileOf("").detectDialog(screen); s != nil {
			t.Errorf("%s is taken for %s (%s)", name, s.dialog.name, s.why)
		}
		if profileOf("").asks(screen) {
			t.Errorf("%s seems to ask", name)
		}
	}
}

func TestPromptsAreSeen(t *testing.T) {
	if profileOf("").takesTyping("  >_ OpenAI Codex\n\n› Ask Codex to do anything\n\n\n  Waiting for startup  · esc cancel", "› ") {
		t.Error("codex comes up, and its prompt is taken for ready")
	}
	if !profileOf("").takesTyping(screenOf(t, "codex-first"), "› ") || profileOf("").takesTyping(screenOf(t, "codex-git-first"), "› ") {
		t.Error("codex's prompt is not told from its dialog")
	}
	for screen, prefix := range map[string]string{"claude-ready": "❯ ", "codex-first": "› ", "gemini-first": "> ", "copilot-busy": "❯\u00a0"} {
		if !showsPrompt(screenOf(t, screen), prefix) {
			t.Errorf("%s: no %q", screen, prefix)
		}
	}
	if showsPrompt(screenOf(t, "claude-first"), "> ") {
		t.Error("a prompt on a dialog")
	}
	p := profileOf("claude")
	at := p.findComposer("x\n────\n❯ hello wor\n  ld\n────\n status", "❯ ")
	if at == nil || at.text != "hello wor ld" || !p.holds(at, "hello world") || p.holds(at, "hello there") {
		t.Errorf("composer = %+v", at)
	}
	if at := p.findComposer(screenOf(t, "claude-busy"), "❯ "); at == nil || !p.empty(at) {
		t.Errorf("composer = %+v", at)
	}
}

// Whatever a screen holds, looking at it ends.
func FuzzScreen(f *testing.F) {
	entries, err := os.ReadDir("testdata/screens")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile("testdata/screens/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "❯ ")
	}
	f.Fuzz(func(t *testing.T, screen, prefix string) {
		if s := profileOf("").detectDialog(screen); s != nil && s.known() {
			if s.target < 0 || s.target >= len(s.menu.options) || s.menu.chosen >= len(s.menu.options) {
				t.Fatalf("%+v of %+v", s, s.menu)
			}
			if strings.HasPrefix(strings.ToLower(s.menu.options[s.target]), "no") {
				t.Fatalf("den would choose %q", s.menu.options[s.target])
			}
		}
		profileOf("").asks(screen)
		showsPrompt(screen, prefix)
		if at := profileOf("").findComposer(screen, prefix); at != nil {
			profileOf("").holds(at, prefix)
		}
		for _, vendor := range []string{"claude", "opencode"} {
			profileOf(vendor).stateOf(screen, prefix)
		}
	})
}
