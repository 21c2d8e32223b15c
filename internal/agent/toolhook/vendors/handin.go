package vendors

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
