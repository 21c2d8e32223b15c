package workspace

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// loadText loads a file that is not on disk.
func loadText(path, text string) (*Workspace, error) {
	return load(path, func(p string) (string, error) {
		if p == path {
			return text, nil
		}
		return "", fs.ErrNotExist
	})
}

// presetsWithModes are those of programs that ask, with their modes.
func presetsWithModes(t *testing.T) map[string]ApprovalModes {
	all := map[string]ApprovalModes{}
	for _, name := range Presets() {
		if n := builtin.Get().get("presets").get(name).get("approval_modes"); n != nil {
			var modes ApprovalModes
			var r report
			decode(n, &modes, "approval_modes", &r)
			if err := r.err("presets.toml"); err != nil {
				t.Fatal(err)
			}
			all[name] = modes
		}
	}
	if len(all) < 9 {
		t.Fatalf("%d presets of coding agents have modes", len(all))
	}
	return all
}

// No preset bypasses anything unless the file says so: what an agent gets
// without a word is "ask", and a program that cannot do that is refused with
// what it can.
func TestPresetsAsk(t *testing.T) {
	for name, modes := range presetsWithModes(t) {
		w, err := loadText("/w/den.yaml", "agents: [{name: a, provider: "+name+"}]")
		if modes.Ask == nil {
			if err == nil || !strings.Contains(err.Error(), "den.yaml:1") || !strings.Contains(err.Error(), "write approval = "+modes.words()) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a := &w.Agents[0]
		told := spelled(a.Argv())
		for key, value := range a.Env.Values {
			told = append(told, bare(key+"="+value))
		}
		if meant := modes.meantBy(told); a.Approval != ApprovalAsk || meant != "" && meant != ApprovalAsk {
			t.Errorf("%s: approval %q, and %q means %q", name, a.Approval, told, meant)
		}
	}
}

// Every word of `approval` does for every preset what its mode says, in both
// formats, wherever it is written, or is refused.
func TestEveryApprovalOfEveryPreset(t *testing.T) {
	files := map[string]string{
		"/w/den.yaml":   "agents: [{name: a, provider: %s, args: [own], approval: %s}]",
		"/w/den.toml":   "[[agents]]\nname = 'a'\nprovider = '%s'\nargs = ['own']\napproval = '%s'\n",
		"/w/2/den.toml": "[[agents]]\nname = 'a'\nprovider = '%s'\nargs = ['own']\n[defaults]\napproval = '%s'\n",
	}
	for name, modes := range presetsWithModes(t) {
		for _, word := range approvals {
			for path, text := range files {
				w, err := loadText(path, fmt.Sprintf(text, name, word))
				mode := modes.of(word)
				if mode == nil {
					if err == nil || !strings.Contains(err.Error(), "cannot do approval = \""+word+"\" ("+modes.Cannot[word]+")") || modes.Cannot[word] == "" {
						t.Errorf("%s %s: %v", name, word, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s %s: %v", name, word, err)
					continue
				}
				a := &w.Agents[0]
				if a.Approval != word || !slices.Equal(a.Args[:len(mode.Args)], mode.Args) || a.Args[len(a.Args)-1] != "own" {
					t.Errorf("%s %s: %q %q", name, word, a.Approval, a.Args)
				}
				for key, value := range mode.Env {
					if a.Env.Values[key] != value {
						t.Errorf("%s %s: %s=%q", name, word, key, a.Env.Values[key])
					}
				}
				if from := a.Origin("approval"); from.File != path {
					t.Errorf("%s %s is from %v", name, word, from)
				}
			}
		}
	}
}

// Arguments and variables of one's own that decide what is asked are refused in
// every spelling; others are not.
func TestOwnArgumentsDoNotContradict(t *testing.T) {
	for name, modes := range presetsWithModes(t) {
		if modes.Ask == nil {
			continue
		}
		var wrong [][]string
		for _, option := range modes.names() {
			if strings.Contains(option, "=") {
				wrong = append(wrong, []string{option}, strings.Split(option, "="))
				continue
			}
			if strings.HasPrefix(option, "-") {
				wrong = append(wrong, []string{option}, []string{"--x", option, "v"}, []string{option + "=v"})
				if len(option) == 2 {
					wrong = append(wrong, []string{option + "v"})
				}
				continue
			}
			wrong = append(wrong, []string{"-c", option + "=v"}, []string{"-c" + option + "=v"}, []string{"--config", option + ` = "v"`}, []string{"--config=" + option + "=v"}, []string{"-c", option + ".x=true"})
		}
		for _, args := range wrong {
			_, err := loadText("/w/den.toml", fmt.Sprintf("[[agents]]\nname = 'a'\nprovider = '%s'\nargs = [%s]\n", name, "'"+strings.Join(args, "', '")+"'"))
			if err == nil || !strings.Contains(err.Error(), "den.toml:4: agent 'a': 'args' has ") {
				t.Errorf("%s with %q: %v", name, args, err)
			}
		}
		for _, key := range modes.names() {
			if strings.HasPrefix(key, "-") {
				continue
			}
			if _, err := loadText("/w/den.toml", fmt.Sprintf("[defaults]\nenv = { %s = 'x' }\n[[agents]]\nname = 'a'\nprovider = '%s'\n", key, name)); err == nil || !strings.Contains(err.Error(), "den.toml:2: agent 'a': 'env' has "+key) {
				t.Errorf("%s with %s: %v", name, key, err)
			}
		}
	}
}

// Arguments that are neither known to decide what is asked nor to be harmless are
// taken, and put in doubt what the agent asks: the list of options that bypass is
// always one short.
func TestOwnArgumentsThatAreNotKnown(t *testing.T) {
	for _, c := range []struct{ preset, args, unknown string }{
		{"claude", "--model m --verbose --resume x", ""},
		{"claude", "--resume --debug", ""},
		{"claude", "--settings {}", "--settings"},
		{"claude", "--model=m --bare", "--bare"},
		{"claude", "--dangerously-skip-permission", "--dangerously-skip-permission"},
		{"claude", "--verbose mcp", "mcp"},
		{"claude", "--model m mcp", "mcp"},
		{"codex", "-c model=x -c tui.theme=dark resume --last", ""},
		{"codex", "-c features.web=true", "-c"},
		{"codex", "-cmodel=x", "-cmodel"},
		{"codex", "-c", "-c"},
		{"codex", "exec", "exec"},
		{"codex", "-C /", "-C"},
		{"gemini", "-d -m x", ""},
		{"gemini", "-dy", "-dy"},
		{"gemini", "--yol", "--yol"},
		{"gemini", "--policy x", "--policy"},
		{"copilot", "--model x --deny-tool=shell", ""},
		{"copilot", "--agent x", "--agent"},
		{"opencode", "-m x -c", ""},
		{"opencode", "attach http://x", "attach"},
		{"qwen", "--model x", ""},
		{"cursor", "--model x -p", "-p"},
	} {
		args := "'" + strings.Join(strings.Fields(c.args), "', '") + "', 'a prompt'"
		for _, word := range []string{ApprovalAsk, ApprovalBypass} {
			w, err := loadText("/w/den.toml", fmt.Sprintf("[[agents]]\nname = 'a'\nprovider = '%s'\napproval = '%s'\nargs = [%s]\n", c.preset, word, args))
			if err != nil {
				t.Errorf("%s %s: %v", c.preset, c.args, err)
				continue
			}
			a := &w.Agents[0]
			want := word
			if c.unknown != "" && word != ApprovalBypass {
				want = ApprovalUnknown
			}
			shown, why := a.ShownApproval()
			if shown != want || a.Approval != word || want == ApprovalUnknown && !strings.HasPrefix(why, "'args' has "+c.unknown) {
				t.Errorf("%s %s: %q, %s; the policy has %q", c.preset, c.args, shown, why, a.Approval)
			}
			if i := slices.IndexFunc(a.Explain(), func(s Setting) bool { return s.Key == "approval" }); a.Explain()[i].Value != want {
				t.Errorf("%s %s is explained as %v", c.preset, c.args, a.Explain()[i])
			}
		}
	}
}

// Variables that may change what the program asks put in doubt what it does; its
// keys, addresses and models do not.
func TestOwnVariablesThatAreNotKnown(t *testing.T) {
	rows := map[string]string{ // the preset's variables that are in doubt, and those that are not
		"claude": "CLAUDE_CONFIG_DIR CLAUDE_CODE_X ANTHROPIC_X / ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_MODEL ANTHROPIC_DEFAULT_OPUS_MODEL CODEX_HOME",
		"codex":  "CODEX_HOME CODEX_X / OPENAI_API_KEY OPENAI_BASE_URL CLAUDE_CONFIG_DIR", "copilot": "COPILOT_HOME / COPILOT_MODEL GH_TOKEN", "gemini": "GEMINI_CLI_HOME GEMINI_SANDBOX / GEMINI_API_KEY GOOGLE_API_KEY GEMINI_MODEL",
		"opencode": "OPENCODE_CONFIG OPENCODE_CONFIG_CONTENT / ANTHROPIC_API_KEY OPENAI_BASE_URL OPENROUTER_API_KEY", "qwen": "QWEN_X / OPENAI_API_KEY", "cursor": "CURSOR_X / CURSOR_API_KEY",
	}
	check := func(way, variable, want string) {
		w, err := loadText("/w/den.toml", fmt.Sprintf("[defaults]\nenv = { %s = 'x' }\n[[agents]]\nname = 'a'\n%s\n", variable, way))
		if err != nil {
			t.Errorf("%s with %s: %v", way, variable, err)
			return
		}
		a := &w.Agents[0]
		if shown, why := a.ShownApproval(); shown != want || want == ApprovalUnknown && !strings.HasPrefix(why, "'env' has "+variable) {
			t.Errorf("%s with %s: %s (%s), want %s", way, variable, shown, why, want)
		}
	}
	for preset, row := range rows {
		unknown, known, _ := strings.Cut(row, "/")
		ways := []string{"provider = '" + preset + "'"}
		if slices.Contains([]string{"claude", "codex", "copilot"}, preset) {
			ways = append(ways, "agent = '"+preset+"'")
		} else if preset == "opencode" || preset == "gemini" {
			ways = append(ways, "agent = 'acp'\nacp_command = ['"+preset+"']")
		}
		for _, way := range ways {
			for _, variable := range append(strings.Fields(unknown), "PATH", "HOME", "XDG_CONFIG_HOME", "NODE_OPTIONS", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV") {
				check(way, variable, ApprovalUnknown)
			}
			for _, variable := range append(strings.Fields(known), "LANG", "GOFLAGS", "HTTPS_PROXY", "MYPATH") {
				check(way, variable, ApprovalAsk)
			}
		}
		for _, way := range ways {
			check(way+"\napproval = 'bypass'", "PATH", ApprovalBypass)
		}
	}
}

// Every word that is known to be harmless is one alone, and is none that decides.
func TestHarmlessWords(t *testing.T) {
	for name, modes := range presetsWithModes(t) {
		for _, word := range modes.Harmless {
			word = strings.Replace(word+"x", "=x", "=y", 1)
			if got := modes.unknown([]string{strings.TrimSuffix(word, "x")}); got != "" || modes.decides(word) {
				t.Errorf("%s: %s: %q", name, word, got)
			}
		}
	}
}

// The message names the key to write.
func TestContradictionNamesTheKey(t *testing.T) {
	for text, want := range map[string]string{
		"provider: claude, args: [--dangerously-skip-permissions]":            `'args' has --dangerously-skip-permissions: write approval = "bypass" instead`,
		"provider: claude, args: [--permission-mode, acceptEdits]":            `'args' has --permission-mode: write approval = "edits" instead`,
		"provider: claude, args: [--permission-mode=plan]":                    `what the agent asks is for 'approval' to say ("ask" or "edits" or "bypass"), or for a 'start_command' of your own`,
		"provider: codex, args: [-c, 'approval_policy=\"never\"']":            `write approval = "bypass" instead`,
		"provider: claude, args: [--allowedTools, Bash]":                      `'args' has --allowedTools: what the agent asks is for 'approval' to say`,
		"provider: codex, args: [--disable, hooks]":                           `'args' has --disable: what the agent asks is for 'approval' to say`,
		"provider: codex, args: [-c, features.hooks=false]":                   `'args' has features.hooks=false: what the agent asks`,
		"provider: codex, args: [-a, never, -s, danger-full-access]":          `'args' has -a: write approval = "bypass" instead`,
		"provider: codex, args: [--full-auto]":                                `'args' has --full-auto: what the agent asks`,
		"provider: gemini, args: [--approval-mode=yolo]":                      `write approval = "bypass" instead`,
		"provider: copilot, args: [--allow-tool, shell]":                      `'args' has --allow-tool: what the agent asks`,
		"agent: acp, acp_command: [gemini, --acp, --yolo]":                    `'acp_command' has --yolo: write approval = "bypass" instead`,
		"provider: gemini, args: [-y]":                                        `write approval = "bypass" instead`,
		"provider: opencode, env: {OPENCODE_PERMISSION: '{\"*\":\"allow\"}'}": `'env' has OPENCODE_PERMISSION: write approval = "bypass" instead`,
		"provider: copilot, env: {COPILOT_ALLOW_ALL: \"true\"}":               `write approval = "bypass" instead`,
		"provider: claude, approval: always":                                  `'approval' is 'always'; it must be one of ask, edits, bypass`,
		"provider: claude, approval: [ask]":                                   `'approval' must be text, not a list`,
		"start_command: claude, approval: ask":                                `'approval' is for presets of coding agents: what this agent asks is decided by its own command line`,
		"provider: shell, approval: bypass":                                   `is decided by its own command line`,
		"agent: script, start_command: cat, approval: ask":                    `is decided by its own command line`,
		"agent: claude, options: {permission_mode: bypassPermissions}":        `'options' has permission_mode = "bypassPermissions": write approval = "bypass" instead`,
		"agent: acp, env: {OPENCODE_PERMISSION: '{\"*\":\"allow\"}'}":         `'env' has OPENCODE_PERMISSION: write approval = "bypass" instead`,
		"agent: codex, options: {approval_policy: never}":                     `write approval = "bypass" instead`,
	} {
		_, err := loadText("/w/den.yaml", "agents: [{name: a, "+text+"}]")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A command of one's own decides itself. Where it is one that den knows, it is
// told when it bypasses.
func TestOwnCommandLineDecides(t *testing.T) {
	for text, want := range map[string]string{
		"provider: shell": "",
		"start_command: claude, args: [--permission-mode, plan]":                          ApprovalUnknown,
		"provider: claude, start_command: claude, args: [--dangerously-skip-permissions]": ApprovalBypass,
		"start_command: 'cd x && /opt/bin/claude --permission-mode bypassPermissions'":    ApprovalBypass,
		"start_command: [codex, --yolo]":                                                  ApprovalBypass,
		"start_command: codex -a never -s danger-full-access":                             ApprovalBypass,
		`start_command: "codex -c 'approval_policy=\"never\"' -s danger-full-access"`:     ApprovalBypass,
		`start_command: [codex, -c, 'approval_policy = "never"']`:                         ApprovalBypass,
		`start_command: "codex --config='approval_policy = \"never\"'"`:                   ApprovalBypass,
		`start_command: "codex -c 'approval_policy=\"on-request\"'"`:                      ApprovalUnknown,
		"start_command: codex -anever":                                                    ApprovalBypass,
		"start_command: codex --ask-for-approval=never":                                   ApprovalBypass,
		"start_command: codex --dangerously-bypass-approvals-and-sandbox":                 ApprovalBypass,
		"start_command: [sh, -c, 'claude --dangerously-skip-permissions']":                ApprovalBypass,
		"start_command: [bash, -lc, 'exec \"claude\" --dangerously-skip-permissions;']":   ApprovalBypass,
		"start_command: env X=1 claude --dangerously-skip-permissions":                    ApprovalBypass,
		"start_command: npx @anthropic-ai/claude-code --dangerously-skip-permissions":     ApprovalBypass,
		"start_command: npx -y @openai/codex@latest --yolo":                               ApprovalBypass,
		"start_command: npx @google/gemini-cli -dy":                                       ApprovalBypass,
		"start_command: npx -y @openai/codex":                                             ApprovalUnknown,
		"start_command: env X=1 claude":                                                   ApprovalUnknown,
		"start_command: [sh, -c, 'FLAGS=$(cat f); claude $FLAGS']":                        ApprovalUnknown,
		"start_command: pi": ApprovalBypass,
		"start_command: npx @mariozechner/pi-coding-agent":                          ApprovalBypass,
		"start_command: opencode, env: {OPENCODE_PERMISSION: '{\"*\": \"allow\"}'}": ApprovalBypass,
		"start_command: [echo, --yolo]":                                             "",
		"agent: script, start_command: cat":                                         "",
	} {
		w, err := loadText("/w/den.yaml", "defaults: {approval: edits}\nagents: [{name: a, "+text+"}]")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		a := &w.Agents[0]
		if shown, why := a.ShownApproval(); shown != want || a.Origin("approval") != ownCommandLine || a.Approval == ApprovalUnknown {
			t.Errorf("%s: %q, %s, from %v", text, shown, why, a.Origin("approval"))
		}
	}
}

// What an agent that is driven by a protocol asks is for den's policy: its
// command line has no part in it.
func TestApprovalByProtocol(t *testing.T) {
	for _, backend := range []string{"claude", "codex", "copilot", "acp"} {
		w, err := loadText("/w/den.yaml", "agents: [{name: a, agent: "+backend+", approval: bypass}, {name: b, agent: "+backend+"}]")
		if err != nil {
			t.Fatal(err)
		}
		a, b := &w.Agents[0], &w.Agents[1]
		if a.Approval != ApprovalBypass || b.Approval != ApprovalAsk || len(a.Args)+len(b.Args) > 0 {
			t.Errorf("%s: %q %q, %q %q", backend, a.Approval, b.Approval, a.Args, b.Args)
		}
		if env := builtinModes("opencode").Protocol.Env; backend == "acp" && (a.Env.Values["OPENCODE_PERMISSION"] != env["OPENCODE_PERMISSION"] || env["OPENCODE_PERMISSION"] == "") {
			t.Errorf("opencode is not told to ask: %v", a.Env)
		}
	}
}

// A preset of one's own can have modes, too.
func TestModesOfAnOwnPreset(t *testing.T) {
	text := "[providers.mine]\nstart_command = 'mine'\n[providers.mine.approval_modes]\nask = { args = ['--careful'] }\nbypass = { env = { MINE = 'wild' } }\n"
	w, err := loadText("/w/den.toml", text+"[[agents]]\nname = 'a'\nprovider = 'mine'\n[[agents]]\nname = 'b'\nprovider = 'mine'\napproval = 'bypass'\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.Agents[0].Argv(), " "); got != "mine --careful" || w.Agents[1].Env.Values["MINE"] != "wild" {
		t.Errorf("%q, %v", got, w.Agents[1].Env)
	}
	if _, err := loadText("/w/den.toml", text+"[[agents]]\nname = 'a'\nprovider = 'mine'\napproval = 'edits'\n"); err == nil || !strings.Contains(err.Error(), `mine cannot do approval = "edits": write approval = "ask" or "bypass"`) {
		t.Error(err)
	}
}
