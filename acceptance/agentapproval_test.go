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

	"den/internal/agent/conversation"
	"den/internal/keeper"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// An approvalAgent is a coding agent on a screen: how its model writes a file,
// and settings of its own by which it would ask nothing.
type approvalAgent struct {
	write func(file string) modelstub.Reply
	lax   func(t *testing.T, h *realcli.Home)
}

func writeWith(tool, path, text string) func(string) modelstub.Reply {
	return func(file string) modelstub.Reply {
		return modelstub.Use(tool, mustJSON(map[string]string{path: file, text: "written\n"}))
	}
}

var approvalAgents = map[string]approvalAgent{
	"claude": {
		write: writeWith("Write", "file_path", "content"),
		lax: func(t *testing.T, h *realcli.Home) {
			h.Write(t, ".claude/settings.json", []byte(`{"permissions":{"defaultMode":"bypassPermissions","disableAutoMode":"disable"},"skipDangerousModePermissionPrompt":true}`))
		},
	},
	"codex": {
		write: func(file string) modelstub.Reply {
			return modelstub.Use("exec", mustJSON(fmt.Sprintf("text(await tools.apply_patch(%q))", "*** Begin Patch\n*** Add File: "+file+"\n+written\n*** End Patch\n")))
		},
		lax: func(t *testing.T, h *realcli.Home) {
			config, err := os.ReadFile(filepath.Join(h.Dir, ".codex", "config.toml"))
			if err != nil {
				t.Fatal(err)
			}
			h.Write(t, ".codex/config.toml", append([]byte("approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"), config...))
		},
	},
	"opencode": {
		write: writeWith("write", "filePath", "content"),
		lax: func(t *testing.T, h *realcli.Home) {
			path := filepath.Join(h.Dir, ".config", "opencode", "opencode.json")
			var config map[string]any
			text, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(text, &config)
			}
			if err != nil {
				t.Fatal(err)
			}
			config["permission"] = map[string]any{"edit": "allow", "bash": map[string]string{"*": "allow", "touch *": "allow"}, "*": "allow"}
			h.Write(t, ".config/opencode/opencode.json", []byte(mustJSON(config)))
		},
	},
	"gemini": {
		write: writeWith("write_file", "file_path", "content"),
		lax: func(t *testing.T, h *realcli.Home) {
			path := filepath.Join(h.Dir, ".gemini", "settings.json")
			var config map[string]any
			text, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(text, &config)
			}
			if err != nil {
				t.Fatal(err)
			}
			config["general"].(map[string]any)["defaultApprovalMode"] = "auto_edit"
			h.Write(t, ".gemini/settings.json", []byte(mustJSON(config)))
		},
	},
	"copilot": {
		write: writeWith("create", "path", "file_text"),
		lax:   func(*testing.T, *realcli.Home) {}, // it has none; COPILOT_ALLOW_ALL is the keeper's, below
	},
}

// asked is what each word of `approval` has an agent ask about.
var asked = map[string]struct{ write, run bool }{
	"ask":    {write: true, run: true},
	"edits":  {run: true},
	"bypass": {},
}

// Real coding agents on their screens, started by their presets: what they ask
// about is what `approval` says, and what was asked about has not happened. The
// agent's own settings, which would allow everything, change nothing of it.
func TestAgentApprovals(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, a := range stateAgents {
		for _, word := range []string{"ask", "edits", "bypass"} {
			t.Run(a.name+"/"+word, func(t *testing.T) { testApproval(t, a, word) })
		}
	}
}

func testApproval(t *testing.T, a stateAgent, word string) {
	own := approvalAgents[a.name]
	stub := modelstub.Start(t)
	var h *realcli.Home
	switch a.name {
	case "opencode":
		h = realcli.OpenCode(t, stub) // without the permissions of other tests
	default:
		h = a.home(t, stub)
	}
	own.lax(t, h)
	says := func(text string) modelstub.Match {
		return modelstub.All(modelstub.Is(text), modelstub.Offers(a.tool))
	}
	stub.When(says("write it"), own.write(filepath.Join(h.Work, "written")), modelstub.Say("That was it."))
	// Not a command that some take for an edit, as claude does "touch".
	run := strings.Replace(a.input, "touch %s", "truncate -s 1 ran", 1)
	if word == "bypass" { // codex refuses to ask for it where it asks nothing
		run = strings.Replace(run, ", sandbox_permissions: 'require_escalated', justification: 'to try'", "", 1)
	}
	stub.When(says("run it"), modelstub.Use(a.tool, run), modelstub.Say("That was it."))

	config := agentConfig(realAgent{name: a.name, approval: word}, h)
	if a.name == "gemini" { // without a model it asks another one first which to take
		config += "[providers.gemini]\nmodel = \"gemini-2.5-flash\"\n"
	}
	k := keepWorkspace(t, a.name, h, config)
	k.env = append(k.env, "COPILOT_ALLOW_ALL=true")
	if out, errOut, code := k.try("up", "--wait", "-t", "2m"); code != 0 || (word == "bypass") != strings.Contains(errOut, a.name+": bypasses permission questions") {
		t.Fatalf("up: exit %d\n%s%s", code, out, errOut)
	}
	shown := word
	if word != "bypass" {
		shown = "unknown" // the agent has a HOME of its own, where settings may say otherwise
	}
	if got := k.status().Approval; got != shown {
		t.Errorf("ps says %q, want %q", got, shown)
	}
	for _, step := range []struct {
		text, file string
		asks       bool
	}{{"write it", "written", asked[word].write}, {"run it", "ran", asked[word].run}} {
		k.do("agent", "nudge", a.name, step.text, "--id", step.file, "-t", "3m")
		asks, done := k.outcome(filepath.Join(h.Work, step.file), a.deny)
		t.Logf("%s, %s: asked %v, done %v", word, step.text, asks, done)
		if asks != step.asks || done == step.asks {
			t.Errorf("%s: asked %v, done %v\n%s", step.text, asks, done, k.screen())
		}
		if asks {
			k.press(a.deny)
		} else {
			k.ends("That was it.")
		}
	}
	if a.name == "codex" && word != "bypass" {
		// A command that stays in its sandbox is not asked about. It changes what
		// the agent may change unasked, and nothing else.
		elsewhere, err := os.MkdirTemp("/var/tmp", "den-outside-") // it may write in /tmp
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(elsewhere); err != nil {
				t.Error(err)
			}
		})
		stub.When(says("stay inside"), codexShell("truncate -s 1 inside; truncate -s 1 "+elsewhere+"/outside"), modelstub.Say("That was it."))
		k.do("agent", "ask", a.name, "stay inside", "-t", "2m")
		for file, may := range map[string]bool{filepath.Join(h.Work, "inside"): word == "edits", filepath.Join(elsewhere, "outside"): false} {
			if _, err := os.Stat(file); (err == nil) != may {
				t.Errorf("%s: %v\n%s", file, err, k.screen())
			}
		}
	}
	k.do("down", "-t", "1m")
	k.leavesNothing()
}

// outcome waits until the agent asks for a permission or has made the file.
// Other dialogs, which are offers of the vendor's, are declined.
func (k *kept) outcome(file string, decline []string) (asks, done bool) {
	k.t.Helper()
	for deadline := time.Now().Add(statePatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		s := k.status()
		_, err := os.Stat(file)
		switch q := s.Question; {
		case err == nil || q != nil && q.Kind == conversation.Permission:
			return s.Question != nil, err == nil
		case q != nil:
			k.press(decline)
		}
	}
	return false, false
}

// ends waits until a turn is over, which the text is the end of.
func (k *kept) ends(text string) {
	k.t.Helper()
	for deadline := time.Now().Add(statePatience); k.status().State != string(conversation.Ready) || !strings.Contains(k.screen(), text); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.t.Fatalf("the turn does not end\n%s", k.screen())
		}
	}
}

// press presses keys until the agent asks no more: agents ignore keys for a
// moment after they have drawn a dialog.
func (k *kept) press(chords []string) {
	k.t.Helper()
	for deadline := time.Now().Add(statePatience); ; time.Sleep(time.Second) {
		s := k.status()
		if s.State != string(conversation.Asking) {
			return
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("it still asks\n%s", k.screen())
		}
		k.do(append([]string{"keys", s.DenSession}, chords...)...)
	}
}

// status is what ps tells of the agent.
func (k *kept) status() keeper.AgentStatus {
	k.t.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(k.do("ps", "-j")), &ps); err != nil {
		k.t.Fatal(err)
	}
	return ps.Agents[0]
}
