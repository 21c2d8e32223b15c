package vendors

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"den/internal/agent/permission"
	"den/internal/agent/toolhook"
	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// A Hook is den's, for one agent.
type Hook struct {
	Den    string // the binary, absolute
	Agent  string // its name in the workspace
	Socket string // the keeper's
	Dir    string // for files that the program reads; the agent must not be able to change it
	// Unasked is that the program may not ask its user.
	Unasked bool
	// Rules are those of the agent's policy, and Protected what it must never
	// change, for a program that takes no hook and has a policy of its own.
	Rules     []permission.Rule
	Protected []string
	// Getenv returns a variable as the program sees it.
	Getenv func(string) string
}

// Launch is a start with the hook.
type Launch struct {
	Argv []string
	Env  map[string]string // to be added
}

// handIns add the hook to a start, by the names of presets.
var handIns = map[string]func(Hook, []string) (Launch, error){
	"claude": (Hook).claude, "codex": (Hook).codex, "copilot": (Hook).copilot, "gemini": (Hook).gemini, "opencode": (Hook).opencode,
}

// Check says why a command cannot be given the hook, nil if it can be.
func Check(vendor string, argv []string) error {
	switch {
	case handIns[vendor] == nil:
		return fault.Errorf(fault.Unsupported, "den knows no hook of its program")
	case len(argv) == 0 || filepath.Base(argv[0]) != vendor:
		return fault.Errorf(fault.Unsupported, "its command is not %s itself", vendor)
	}
	return nil
}

// HandIn adds the hook to a start. Nothing of the user's own settings is changed:
// the user's hooks run beside it.
func (h Hook) HandIn(vendor string, argv []string) (Launch, error) {
	if err := Check(vendor, argv); err != nil {
		return Launch{}, err
	}
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return Launch{}, fault.Errorf(fault.Storage, "make the directory of its hook: %w", err)
	}
	return handIns[vendor](h, argv)
}

// How long a program waits for the hook, in seconds. den answers sooner, by itself
// if the keeper does not. askLimit is where a person may be asked meanwhile.
const (
	hookLimit = 60
	askLimit  = int((toolhook.AskPatience + time.Minute) / time.Second)
)

func (h Hook) line(vendor, moment string) string {
	return toolhook.Call{Vendor: vendor, Moment: moment, Agent: h.Agent, Socket: h.Socket}.Line(h.Den)
}

// write writes files below the hook's directory.
func (h Hook) write(files map[string]any) error {
	for name, content := range files {
		path := filepath.Join(h.Dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if text, ok := content.(string); ok && err == nil {
			err = atomicfile.Replace(path, []byte(text))
		} else if err == nil {
			err = atomicfile.ReplaceJSON(path, content)
		}
		if err != nil {
			return fault.Errorf(fault.Storage, "write its hook: %w", err)
		}
	}
	return nil
}

// before puts arguments before those of a command.
func before(argv []string, args ...string) Launch {
	return Launch{Argv: slices.Concat(argv[:1], args, argv[1:])}
}

type object = map[string]any

// opencode asks den by its server. Where there are rules it asks for everything,
// so that they hold for all of it.
func (h Hook) opencode(argv []string) (Launch, error) {
	l := Launch{Argv: argv}
	if len(h.Rules) > 0 {
		l.Env = map[string]string{"OPENCODE_PERMISSION": `{"*":"ask"}`}
	}
	return l, nil
}

func (h Hook) claude(argv []string) (Launch, error) {
	hook := object{"type": "command", "command": h.line("claude", toolhook.BeforeTool), "timeout": hookLimit}
	err := h.write(map[string]any{
		".claude-plugin/plugin.json": object{"name": "den", "description": "den's policy", "version": "1.0.0"},
		"hooks/hooks.json":           object{"hooks": object{"PreToolUse": []any{object{"hooks": []any{hook}}}}},
	})
	return before(argv, "--plugin-dir", h.Dir), err
}

func (h Hook) copilot(argv []string) (Launch, error) {
	hook := object{"type": "command", "bash": h.line("copilot", toolhook.BeforeTool), "timeoutSec": hookLimit}
	err := h.write(map[string]any{
		"plugin.json":      object{"name": "den", "description": "den's policy", "version": "1.0.0", "hooks": "hooks/hooks.json"},
		"hooks/hooks.json": object{"version": 1, "hooks": object{"preToolUse": []any{hook}}},
	})
	return before(argv, "--plugin-dir", h.Dir), err
}

// codex asks its user to review hooks, unless it is given a hash of what was
// reviewed. This one is den's own, and is trusted for this start alone; the
// user's hooks are reviewed as ever. With a hash that it does not take, codex
// asks.
func (h Hook) codex(argv []string) (Launch, error) {
	var args, trusted []string
	beforeTool := toolhook.BeforeTool
	if h.Unasked {
		beforeTool = toolhook.Unasked
	}
	for _, e := range []struct {
		name, key, moment string
		limit             int
	}{{"PreToolUse", "pre_tool_use", beforeTool, askLimit}, {"PermissionRequest", "permission_request", toolhook.OnRequest, hookLimit}} {
		line := h.line("codex", e.moment)
		hash, err := codexHash(e.key, line, e.limit)
		if err != nil {
			return Launch{}, err
		}
		args = append(args, "-c", fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=%d}]}]`, e.name, tomlText(line), e.limit))
		trusted = append(trusted, fmt.Sprintf(`"/<session-flags>/config.toml:%s:0:0"={trusted_hash="%s"}`, e.key, hash))
	}
	return before(argv, append(args, "-c", "hooks.state={"+strings.Join(trusted, ",")+"}")...), nil
}

// codexHash is the hash by which codex knows a hook.
func codexHash(event, line string, limit int) (string, error) {
	// Keys are sorted, as codex does.
	text, err := plainJSON(object{"event_name": event, "hooks": []any{object{"async": false, "command": line, "timeout": limit, "type": "command"}}})
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))), err
}

// tomlText is a text in TOML. What JSON writes for one is that, too.
func tomlText(text string) string {
	quoted, err := plainJSON(text)
	if err != nil {
		panic(err) // a text: cannot be
	}
	return strings.ReplaceAll(quoted, "\x7f", `\u007f`)
}

// plainJSON is JSON without what Go escapes for web pages.
func plainJSON(v any) (string, error) {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fault.Errorf(fault.Internal, "hand in the hook: %w", err)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// gemini takes hooks from settings only: the user's, the repository's, or files
// of root. So den's rules are told to its own policy, as another file of the
// user's. What it says holds from a start to the next.
func (h Hook) gemini(argv []string) (Launch, error) {
	home := cmp.Or(h.Getenv("GEMINI_CLI_HOME"), h.Getenv("HOME"))
	var args []string
	// The user's own files are read where none are named.
	if own := filepath.Join(home, ".gemini", "policies"); home != "" {
		if _, err := os.Stat(own); err == nil {
			args = append(args, "--policy", own)
		}
	}
	err := h.write(map[string]any{"policy.toml": geminiPolicy(h.Rules, h.Protected)})
	return before(argv, append(args, "--policy", filepath.Join(h.Dir, "policy.toml"))...), err
}

// geminiShell is gemini's tool that runs commands, and geminiTools those of each
// kind.
const geminiShell = "run_shell_command"

var geminiTools = map[permission.Kind][]string{
	permission.Execute: {geminiShell},
	permission.Edit:    {"write_file", "replace"},
	permission.Read:    {"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"},
	permission.Fetch:   {"web_fetch", "google_web_search"},
}

// The places of rules in gemini's policy: the strictest wins. A user's own rule
// is above one of den's that allows, unless it has the least of all places.
var geminiPlaces = map[string]int{"allow": 1, "ask_user": 990, "deny": 995}

// GeminiTakes reports whether gemini's policy can hold a rule.
func GeminiTakes(r permission.Rule) bool {
	return r.Path == "" && r.Host == "" && (r.Command != "" || r.Tool != "" || geminiTools[r.Kind] != nil)
}

// geminiPolicy is what gemini's policy can hold of den's. A rule that allows
// allows no more there than in den's policy; one that forbids forbids more.
func geminiPolicy(rules []permission.Rule, protected []string) string {
	var b strings.Builder
	b.WriteString("# Made by den from the agent's permissions.\n")
	add := func(decision, tool, pattern, why string) {
		fmt.Fprintf(&b, "\n[[rule]]\ntoolName = %s\ndecision = \"%s\"\npriority = %d\n", tomlText(tool), decision, geminiPlaces[decision])
		if pattern != "" {
			fmt.Fprintf(&b, "argsPattern = '''%s'''\n", pattern)
		}
		if decision == "deny" && why != "" {
			fmt.Fprintf(&b, "denyMessage = %s\n", tomlText(why))
		}
	}
	for _, r := range rules {
		switch {
		case !GeminiTakes(r) || r.Command != "" && r.Tool != "" && !strings.EqualFold(r.Tool, geminiShell):
		case r.Command != "" && r.Outcome == permission.Allow:
			for _, pattern := range exactly(r.Command) {
				add("allow", geminiShell, pattern, "")
			}
		case r.Command != "":
			begins, has := generously(r.Command)
			if r.Outcome == permission.Deny {
				add("deny", geminiShell, begins, r.Why)
			}
			add("ask_user", geminiShell, has, "")
		default:
			tools := geminiTools[r.Kind]
			if r.Tool != "" {
				tools = []string{r.Tool}
			}
			for _, tool := range tools {
				add(map[permission.Outcome]string{permission.Allow: "allow", permission.Ask: "ask_user", permission.Deny: "deny"}[r.Outcome], tool, "", r.Why)
			}
		}
	}
	add("deny", geminiShell, `"command":".*\bdend?\b.*\b(?:approvals|accounts)\b`, "an agent must not decide what it asks for itself")
	for _, path := range protected {
		add("deny", "*", strings.ReplaceAll(regexp.QuoteMeta(path), "'", "."), permission.WhyProtected)
	}
	return b.String()
}

// plain are characters that no shell, no JSON and no regular expression gives a
// meaning to; a star of a rule that allows stands for these.
const plain = `A-Za-z0-9_/:@%,-`

var plainRule = regexp.MustCompile(`^[` + plain + `.+*]+$`)

// exactly is a rule's command as patterns for the tool's input, which is JSON: a
// quote in a value has a backslash before it, so that none can look like a
// member's name. gemini refuses repetition in repetition. There are none for a
// command that is asked for then: one with other characters, or one that den
// allows in some places only, as git.
func exactly(command string) []string {
	if !allowedAnywhere(command) {
		return nil
	}
	words := strings.Fields(command)
	var all []string
	for i, w := range words {
		switch {
		case !plainRule.MatchString(w):
			return nil
		case w == "*" && i > 0 && i == len(words)-1: // any number of words
			begin := strings.Join(all, " ")
			return []string{inShell(begin), inShell(begin + " [" + plain + ".+ ]*")}
		case w == "*":
			all = append(all, "["+plain+".+]+")
		default:
			all = append(all, strings.ReplaceAll(regexp.QuoteMeta(w), `\*`, "["+plain+".+]*"))
		}
	}
	return []string{inShell(strings.Join(all, " "))}
}

// allowedAnywhere reports whether a rule that allows a command does so wherever
// the agent is.
func allowedAnywhere(command string) bool {
	nowhere := permission.Settings{
		Dir: "/", Rules: []permission.Rule{{Outcome: permission.Allow, Command: command}},
		Readlink: func(string) (string, error) { return "", os.ErrNotExist }, Exists: func(string) bool { return false },
	}
	p, err := permission.NewPolicy(nowhere)
	if err != nil {
		return false
	}
	outcome, _ := p.Decide(permission.Request{Tool: geminiShell, Kind: permission.Execute, Command: strings.ReplaceAll(command, "*", "x")})
	return outcome == permission.Allow
}

// inShell is a whole command, which runs in the agent's directory.
func inShell(command string) string {
	return `^(?!.*[^\\]"dir_path":).*[^\\]"command":"` + command + `"`
}

// generously is a rule's command as a pattern for a command that begins like it,
// from whatever directory and in any case, and as one for a command that has its
// words. gemini asks for each command of a line on its own.
func generously(command string) (begins, has string) {
	var words []string
	for _, w := range strings.Fields(strings.NewReplacer("'", "", `\`, "").Replace(command)) {
		if w = strings.Trim(w, "*"); w != "" {
			words = append(words, anyCase(w))
		}
	}
	if len(words) == 0 { // every command
		return `"command":`, `"command":`
	}
	edge := `(?:\b|\\[nt])`
	return `"command":"[^ "]*` + edge + strings.Join(words, " +"), `"command":".*` + edge + strings.Join(words, ".*"+edge)
}

// anyCase matches a word in any case; what is no letter or digit is any
// character.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		switch {
		case unicode.IsLetter(r) && unicode.ToLower(r) != unicode.ToUpper(r):
			fmt.Fprintf(&b, "[%c%c]", unicode.ToLower(r), unicode.ToUpper(r))
		case unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte('.')
		}
	}
	return b.String()
}
