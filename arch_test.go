// Package den_test holds the rules that the whole tree keeps: they are
// programs, so a change that breaks one is a visible edit here.
package den_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wings are the folders of internal, the top first. A package imports those of
// its own wing and of wings below it. Each wing's doc.go says what lives there.
var wings = []string{
	"ui",      // what people, scripts and models use
	"keeper",  // the keeper of a workspace
	"ticks",   // agents that sleep and wake
	"agent",   // what an agent is, how den talks with it, and what it may do
	"place",   // where agents live
	"session", // durable terminals
	"chat",    // channels
	"screen",  // what terminals show, and its record
	"process", // the operating system's processes
	"base",    // what everything stands on
}

// testkit is the wing that only tests, and programs for the project itself,
// import.
const testkit = "testkit"

// allowed maps a package to the packages of ours that it may import. A
// package with no row may import none.
var allowed = map[string][]string{
	"cmd/den":  {"internal/ui/cli"},
	"cmd/dend": {"internal/ui/dend"},

	// ui
	"internal/ui": {},
	"internal/ui/cli": {
		"internal/base/atomicfile", "internal/base/brief", "internal/base/build", "internal/base/environment", "internal/base/fault", "internal/base/ident", "internal/base/plainjson", "internal/base/poll", "internal/base/rpc",
		"internal/process/git", "internal/process/pty", "internal/process/tree",
		"internal/screen", "internal/screen/eventlog", "internal/screen/keys", "internal/screen/render", "internal/screen/render/film", "internal/screen/render/redact",
		"internal/screen/replay", "internal/screen/vt",
		"internal/session", "internal/session/attention", "internal/session/cell", "internal/session/home", "internal/session/host", "internal/session/news",
		"internal/session/script", "internal/session/steps", "internal/session/wire",
		"internal/place/decisive", "internal/place/podhost", "internal/place/provider/subprocess/shim", "internal/place/sandbox", "internal/place/workspace",
		"internal/place/worktree",
		"internal/agent", "internal/agent/conversation", "internal/agent/harness/ipc", "internal/agent/harness/turns", "internal/agent/runner/remote/holder",
		"internal/agent/toolhook",
		"internal/ticks/datarepo", "internal/ticks/example", "internal/ticks/history", "internal/ticks/instance", "internal/ticks/registry", "internal/ticks/toolsocket",
		"internal/ticks/transcript", "internal/ticks/wake",
		"internal/keeper",
		"internal/ui/cli/agenttty", "internal/ui/cli/k", "internal/ui/dashboard",
	},
	"internal/ui/cli/agenttty": {
		"internal/base/fault", "internal/base/ident", "internal/base/lazy", "internal/base/plainjson",
		"internal/screen", "internal/screen/keys", "internal/screen/render/film", "internal/screen/vt",
		"internal/session", "internal/session/cell", "internal/session/home", "internal/session/wire",
	},
	"internal/ui/cli/k": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/ident", "internal/base/lazy", "internal/base/plainjson",
		"internal/screen", "internal/screen/eventlog", "internal/screen/replay", "internal/screen/vt",
		"internal/session", "internal/session/cell", "internal/session/home", "internal/session/wire",
	},
	"internal/ui/dashboard": {
		"internal/base/brief", "internal/base/fault", "internal/base/lazy", "internal/base/poll",
		"internal/screen", "internal/screen/eventlog", "internal/screen/replay", "internal/screen/vt",
		"internal/session/attention", "internal/session/cell", "internal/session/home",
	},
	"internal/ui/dashboard/fleet": {"internal/base/build", "internal/base/fault", "internal/keeper"},
	"internal/ui/dashboard/nights": {
		"internal/base/brief", "internal/base/fault",
		"internal/screen/eventlog",
		"internal/ticks/history", "internal/ticks/instance", "internal/ticks/plan", "internal/ticks/registry", "internal/ticks/transcript",
		"internal/ui/dashboard",
	},
	"internal/ui/dashboard/tui": {
		"internal/base/brief", "internal/base/build", "internal/base/environment", "internal/base/fault",
		"internal/screen", "internal/screen/eventlog", "internal/screen/vt",
		"internal/session", "internal/session/attention", "internal/session/cell", "internal/session/home", "internal/session/wire",
		"internal/ticks/instance", "internal/ticks/plan",
		"internal/keeper",
		"internal/ui/dashboard", "internal/ui/dashboard/fleet", "internal/ui/dashboard/nights",
	},
	"internal/ui/dashboard/web": {
		"internal/base/brief", "internal/base/build", "internal/base/environment", "internal/base/fault", "internal/base/httpguard", "internal/base/journal", "internal/base/poll", "internal/base/rpc",
		"internal/process/pty", "internal/process/tree",
		"internal/screen", "internal/screen/eventlog", "internal/screen/keys", "internal/screen/render", "internal/screen/render/film", "internal/screen/vt",
		"internal/chat/irc/ircd/history",
		"internal/session", "internal/session/home", "internal/session/wire",
		"internal/agent", "internal/agent/harness/turns",
		"internal/keeper",
		"internal/ui/dashboard", "internal/ui/dashboard/fleet", "internal/ui/dashboard/nights", "internal/ui/served",
	},
	"internal/ui/dend": {
		"internal/agent/harness/harnessmain",
		"internal/ticks/ticksmain",
		"internal/keeper/daemon",
		"internal/ui/dashboard/tui", "internal/ui/dashboard/web", "internal/ui/mcp", "internal/ui/remote",
	},
	"internal/ui/mcp": {
		"internal/base/atomicfile", "internal/base/build", "internal/base/environment", "internal/base/fault", "internal/base/httpguard", "internal/base/mcpserver",
		"internal/screen/eventlog", "internal/screen/keys", "internal/screen/render",
		"internal/session", "internal/session/cell", "internal/session/home", "internal/session/news", "internal/session/terminals", "internal/session/wire",
		"internal/agent/harness/ipc",
		"internal/ui/served",
	},
	"internal/ui/served": {"internal/base/fault"},
	"internal/ui/remote": {
		"internal/base/environment", "internal/base/fault", "internal/base/poll",
		"internal/process/pty",
		"internal/screen",
		"internal/place/lease", "internal/place/podhost", "internal/place/provider/kubernetes", "internal/place/workspace",
	},

	// keeper
	"internal/keeper": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/poll", "internal/base/rpc", "internal/base/statefile",
		"internal/process/git",
		"internal/session/attention", "internal/session/home",
		"internal/place/sandbox",
		"internal/agent/conversation",
	},
	"internal/keeper/boxes": {
		"internal/base/fault",
		"internal/place/provider", "internal/place/provider/boxed", "internal/place/provider/container", "internal/place/provider/factory", "internal/place/provider/kubernetes",
		"internal/place/provider/native", "internal/place/workspace",
		"internal/agent/harness", "internal/agent/harness/ipc", "internal/agent/runner/remote/holder",
	},
	"internal/keeper/chatserver": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/rpc", "internal/base/statefile",
		"internal/chat/irc/ircd",
		"internal/session/home",
		"internal/place/workspace",
		"internal/agent/harness",
	},
	"internal/keeper/controller": {"internal/base/atomicfile", "internal/base/fault", "internal/base/journal", "internal/base/poll", "internal/base/statefile", "internal/base/wake", "internal/place/provider", "internal/keeper"},
	"internal/keeper/daemon": {
		"internal/base/build", "internal/base/environment", "internal/base/fault", "internal/base/poll", "internal/base/rpc",
		"internal/process/pty", "internal/process/tree",
		"internal/session", "internal/session/home",
		"internal/place/decisive", "internal/place/provider", "internal/place/provider/factory", "internal/place/sandbox", "internal/place/workspace", "internal/place/worktree",
		"internal/agent", "internal/agent/budget", "internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/conversation/protocol",
		"internal/agent/conversation/sources", "internal/agent/harness", "internal/agent/harness/ipc", "internal/agent/permission", "internal/agent/runner/drivers",
		"internal/keeper", "internal/keeper/boxes", "internal/keeper/chatserver", "internal/keeper/controller", "internal/keeper/judge", "internal/keeper/lead",
		"internal/keeper/notes", "internal/keeper/receiver", "internal/keeper/trees", "internal/keeper/waiting",
	},
	"internal/keeper/judge": {
		"internal/base/fault",
		"internal/place/workspace",
		"internal/agent", "internal/agent/conversation/sources", "internal/agent/harness", "internal/agent/permission", "internal/agent/toolhook",
		"internal/agent/toolhook/vendors",
		"internal/keeper",
	},
	"internal/keeper/lead": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/poll",
		"internal/process/tree",
		"internal/place/lease", "internal/place/provider/kubernetes",
		"internal/keeper",
	},
	"internal/keeper/notes": {
		"internal/base/fault",
		"internal/session/attention", "internal/session/home",
		"internal/agent/conversation",
		"internal/keeper",
	},
	"internal/keeper/receiver": {"internal/session/attention", "internal/agent/webhook", "internal/keeper"},
	"internal/keeper/trees":    {"internal/base/wake", "internal/place/workspace", "internal/place/worktree", "internal/keeper"},
	"internal/keeper/waiting": {
		"internal/session/attention", "internal/session/cell",
		"internal/agent/budget", "internal/agent/conversation", "internal/agent/harness/ipc", "internal/agent/permission", "internal/agent/runner", "internal/agent/supervisor",
		"internal/keeper",
	},

	// ticks
	"internal/ticks": {},
	"internal/ticks/box": {
		"internal/base/fault",
		"internal/process/tree",
		"internal/session", "internal/session/home",
		"internal/place/provider", "internal/place/provider/container", "internal/place/workspace",
		"internal/agent/runner/remote", "internal/agent/runner/remote/holder",
		"internal/ticks/datarepo", "internal/ticks/instance", "internal/ticks/terminal",
	},
	"internal/ticks/command": {"internal/agent/runner"},
	"internal/ticks/datarepo": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/lazy",
		"internal/ticks/isotime", "internal/ticks/jsonobject",
	},
	"internal/ticks/example": {"internal/base/fault"},
	"internal/ticks/gitpush": {"internal/base/fault", "internal/process/git"},
	"internal/ticks/history": {"internal/base/fault", "internal/base/statefile", "internal/ticks/datarepo", "internal/ticks/plan"},
	"internal/ticks/hook":    {"internal/agent/runner", "internal/ticks/command"},
	"internal/ticks/instance": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/statefile",
		"internal/session/home",
		"internal/ticks/datarepo", "internal/ticks/history", "internal/ticks/plan", "internal/ticks/registry", "internal/ticks/wake", "internal/ticks/watch",
	},
	"internal/ticks/isotime":    {},
	"internal/ticks/jsonobject": {},
	"internal/ticks/plan":       {"internal/base/fault", "internal/base/statefile"},
	"internal/ticks/registry": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/statefile",
		"internal/ticks/jsonobject",
	},
	"internal/ticks/rotate": {"internal/base/atomicfile"},
	"internal/ticks/terminal": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/poll", "internal/base/statefile", "internal/base/wake",
		"internal/process/pty",
		"internal/screen", "internal/screen/eventlog", "internal/screen/keys", "internal/screen/vt",
		"internal/session", "internal/session/home", "internal/session/wire",
		"internal/place/provider/procname",
		"internal/ticks/datarepo", "internal/ticks/history",
	},
	"internal/ticks/tick": {
		"internal/base/fault", "internal/base/poll", "internal/base/rpc",
		"internal/session/home",
		"internal/agent/conversation/watch", "internal/agent/permission", "internal/agent/runner", "internal/agent/runner/script",
		"internal/ticks/datarepo", "internal/ticks/history", "internal/ticks/hook", "internal/ticks/instance", "internal/ticks/plan", "internal/ticks/terminal",
		"internal/ticks/toolsocket", "internal/ticks/watch",
	},
	"internal/ticks/ticksmain": {
		"internal/base/build", "internal/base/environment", "internal/base/fault", "internal/base/mcpserver", "internal/base/plainjson",
		"internal/process/git", "internal/process/tree",
		"internal/session", "internal/session/home",
		"internal/place/provider/container",
		"internal/agent/runner/drivers", "internal/agent/runner/local",
		"internal/ticks/box", "internal/ticks/datarepo", "internal/ticks/gitpush", "internal/ticks/instance", "internal/ticks/plan", "internal/ticks/registry",
		"internal/ticks/rotate", "internal/ticks/terminal", "internal/ticks/tick", "internal/ticks/toolsocket", "internal/ticks/watch",
	},
	"internal/ticks/toolsocket": {"internal/base/fault", "internal/base/rpc"},
	"internal/ticks/transcript": {},
	"internal/ticks/wake": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/lazy", "internal/base/statefile",
		"internal/ticks/datarepo", "internal/ticks/isotime", "internal/ticks/jsonobject",
	},
	"internal/ticks/watch": {"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/ticks/plan"},

	// agent
	"internal/agent": {
		"internal/base/fault", "internal/base/ident", "internal/base/lazy", "internal/base/poll", "internal/base/statefile",
		"internal/place/provider", "internal/place/sandbox", "internal/place/workspace",
		"internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/conversation/protocol", "internal/agent/conversation/screen",
	},
	"internal/agent/budget":              {"internal/base/fault", "internal/base/statefile"},
	"internal/agent/conversation":        {},
	"internal/agent/conversation/claude": {"internal/base/fault", "internal/base/poll", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/codex": {
		"internal/base/fault", "internal/base/poll", "internal/base/wake",
		"internal/agent/conversation", "internal/agent/conversation/watch", "internal/agent/runner", "internal/agent/runner/codex/wire", "internal/agent/runner/jsonrpc",
	},
	"internal/agent/conversation/copilot": {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch", "internal/agent/runner/copilot/wire"},
	"internal/agent/conversation/gemini":  {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/protocol": {
		"internal/base/fault", "internal/base/ident", "internal/base/poll",
		"internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/conversation/watch", "internal/agent/harness/ipc",
	},
	"internal/agent/conversation/opencode": {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/outbox":   {"internal/base/atomicfile", "internal/base/fault", "internal/base/ident", "internal/base/journal", "internal/base/statefile", "internal/base/wake", "internal/agent/conversation"},
	"internal/agent/conversation/screen": {
		"internal/base/fault", "internal/base/lazy", "internal/base/poll", "internal/base/wake",
		"internal/place/provider",
		"internal/agent/conversation", "internal/agent/conversation/outbox",
	},
	"internal/agent/conversation/sources": {
		"internal/base/fault", "internal/base/statefile", "internal/base/wake",
		"internal/agent/conversation", "internal/agent/conversation/claude", "internal/agent/conversation/codex", "internal/agent/conversation/copilot",
		"internal/agent/conversation/gemini", "internal/agent/conversation/opencode",
	},
	"internal/agent/conversation/watch": {"internal/base/fault", "internal/base/poll", "internal/base/wake", "internal/agent/conversation"},
	"internal/agent/harness": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/journal", "internal/base/poll", "internal/base/rpc", "internal/base/statefile", "internal/base/wake",
		"internal/process/pty", "internal/process/tree",
		"internal/screen/vt",
		"internal/place/decisive", "internal/place/sandbox",
		"internal/agent/budget", "internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/harness/ipc", "internal/agent/harness/turns",
		"internal/agent/permission", "internal/agent/runner", "internal/agent/supervisor", "internal/agent/webhook",
	},
	"internal/agent/harness/harnessmain": {
		"internal/base/build", "internal/base/environment", "internal/base/fault",
		"internal/process/tree",
		"internal/session", "internal/session/home",
		"internal/place/provider", "internal/place/provider/container", "internal/place/provider/kubernetes", "internal/place/workspace",
		"internal/agent/harness", "internal/agent/harness/onirc", "internal/agent/runner", "internal/agent/runner/acp", "internal/agent/runner/acp/terminals",
		"internal/agent/runner/drivers", "internal/agent/runner/local", "internal/agent/runner/remote", "internal/agent/supervisor",
	},
	"internal/agent/harness/ipc": {"internal/base/fault", "internal/base/ident", "internal/base/poll", "internal/base/rpc", "internal/session/home", "internal/agent/conversation"},
	"internal/agent/harness/onirc": {
		"internal/base/fault", "internal/base/rpc",
		"internal/chat/irc",
		"internal/agent/harness", "internal/agent/harness/ipc",
	},
	"internal/agent/harness/turns": {"internal/agent/conversation", "internal/base/journal", "internal/base/lazy", "internal/base/statefile", "internal/screen/render/redact"},
	"internal/agent/permission": {
		"internal/base/fault", "internal/base/journal", "internal/base/statefile",
		"internal/screen/render/redact",
		"internal/place/decisive",
		"internal/agent/permission/commandline",
	},
	"internal/agent/permission/commandline": {},
	"internal/agent/runner": {
		"internal/base/fault", "internal/base/statefile", "internal/base/wake",
		"internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/permission",
	},
	"internal/agent/runner/acp": {
		"internal/base/fault",
		"internal/agent/permission", "internal/agent/runner", "internal/agent/runner/jsonrpc", "internal/agent/runner/stdio", "internal/agent/runner/turn",
	},
	"internal/agent/runner/acp/terminals": {
		"internal/base/fault", "internal/base/ident",
		"internal/session", "internal/session/home", "internal/session/wire",
		"internal/place/sandbox",
		"internal/agent/runner/acp",
	},
	"internal/agent/runner/claude": {
		"internal/base/fault",
		"internal/agent/permission", "internal/agent/runner", "internal/agent/runner/stdio", "internal/agent/runner/turn",
	},
	"internal/agent/runner/codex": {
		"internal/base/fault",
		"internal/agent/permission", "internal/agent/runner", "internal/agent/runner/codex/wire", "internal/agent/runner/jsonrpc", "internal/agent/runner/stdio", "internal/agent/runner/turn",
	},
	"internal/agent/runner/copilot": {
		"internal/base/fault",
		"internal/agent/permission", "internal/agent/runner", "internal/agent/runner/copilot/wire", "internal/agent/runner/jsonrpc", "internal/agent/runner/stdio", "internal/agent/runner/turn",
	},
	"internal/agent/runner/codex/wire":   {"internal/agent/runner/jsonrpc"},
	"internal/agent/runner/copilot/wire": {},
	"internal/agent/runner/drivers": {
		"internal/base/build",
		"internal/agent/runner", "internal/agent/runner/acp", "internal/agent/runner/claude", "internal/agent/runner/codex", "internal/agent/runner/copilot",
		"internal/agent/runner/script",
	},
	"internal/agent/runner/jsonrpc": {"internal/agent/runner", "internal/agent/runner/stdio"},
	"internal/agent/runner/local":   {"internal/base/fault", "internal/process/tree", "internal/place/sandbox", "internal/agent/runner"},
	"internal/agent/runner/remote": {
		"internal/base/fault",
		"internal/process/tree",
		"internal/place/provider",
		"internal/agent/runner", "internal/agent/runner/remote/holder",
	},
	"internal/agent/runner/remote/holder": {"internal/base/fault", "internal/base/wake", "internal/process/pty", "internal/process/tree"},
	"internal/agent/runner/script":        {"internal/base/fault", "internal/agent/runner"},
	"internal/agent/runner/stdio":         {"internal/agent/runner"},
	"internal/agent/runner/turn":          {"internal/agent/permission", "internal/agent/runner"},
	"internal/agent/supervisor": {
		"internal/base/fault", "internal/base/statefile", "internal/base/wake",
		"internal/screen/render/redact",
		"internal/agent/permission", "internal/agent/runner",
	},
	"internal/agent/toolhook": {},
	"internal/agent/toolhook/vendors": {
		"internal/base/atomicfile", "internal/base/fault",
		"internal/agent/permission", "internal/agent/runner/claude", "internal/agent/toolhook",
	},
	"internal/agent/webhook": {"internal/base/fault", "internal/base/ident", "internal/base/poll", "internal/base/statefile", "internal/base/wake"},

	// place
	"internal/place":          {},
	"internal/place/decisive": {"internal/base/fault", "internal/base/lazy", "internal/base/statefile"},
	"internal/place/lease":    {"internal/base/fault", "internal/base/poll"},
	"internal/place/podhost": {
		"internal/base/fault", "internal/base/rpc", "internal/base/wake",
		"internal/process/pty", "internal/process/tree",
		"internal/session", "internal/session/home",
		"internal/place/provider", "internal/place/provider/local", "internal/place/provider/procname",
	},
	"internal/place/provider":          {"internal/base/fault"},
	"internal/place/provider/boxed":    {"internal/base/fault", "internal/place/provider", "internal/place/provider/native"},
	"internal/place/provider/children": {},
	"internal/place/provider/container": {
		"internal/base/fault", "internal/base/ident", "internal/base/poll",
		"internal/session", "internal/session/home",
		"internal/place/provider", "internal/place/provider/native", "internal/place/workspace",
	},
	"internal/place/provider/factory": {
		"internal/base/fault",
		"internal/session/home",
		"internal/place/provider", "internal/place/provider/container", "internal/place/provider/kubernetes", "internal/place/provider/native",
		"internal/place/provider/subprocess", "internal/place/provider/tmux", "internal/place/workspace",
	},
	"internal/place/provider/inherit": {},
	"internal/place/provider/inotify": {"internal/base/fault"},
	"internal/place/provider/kubernetes": {
		"internal/base/fault", "internal/base/poll", "internal/base/rpc", "internal/base/wake",
		"internal/screen/eventlog",
		"internal/session", "internal/session/home",
		"internal/place/podhost", "internal/place/provider", "internal/place/provider/inherit", "internal/place/provider/local", "internal/place/provider/native",
		"internal/place/workspace",
	},
	"internal/place/provider/local": {"internal/base/fault", "internal/place/provider"},
	"internal/place/provider/native": {
		"internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/rpc", "internal/base/statefile",
		"internal/process/pty", "internal/process/tree",
		"internal/session", "internal/session/home", "internal/session/wire",
		"internal/place/provider", "internal/place/provider/children", "internal/place/provider/inherit", "internal/place/provider/inotify", "internal/place/provider/local",
		"internal/place/provider/procname",
	},
	"internal/place/provider/procname": {},
	"internal/place/provider/subprocess": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/poll", "internal/base/rpc",
		"internal/process/tree",
		"internal/session/home",
		"internal/place/provider", "internal/place/provider/children", "internal/place/provider/inherit", "internal/place/provider/inotify",
		"internal/place/provider/local", "internal/place/provider/subprocess/shim",
	},
	"internal/place/provider/subprocess/shim": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/rpc", "internal/base/statefile", "internal/base/wake",
		"internal/process/pty", "internal/process/tree",
		"internal/place/provider", "internal/place/provider/procname",
	},
	"internal/place/provider/tmux": {
		"internal/base/fault", "internal/base/filelock", "internal/base/poll", "internal/base/wake",
		"internal/process/pty", "internal/process/tree",
		"internal/screen/keys", "internal/screen/vt",
		"internal/place/provider", "internal/place/provider/inherit", "internal/place/provider/local", "internal/place/provider/procname",
		"internal/place/provider/tmux/idle",
	},
	"internal/place/provider/tmux/idle": {"internal/base/fault", "internal/process/pty"},
	"internal/place/sandbox":            {"internal/base/atomicfile", "internal/base/fault", "internal/base/lazy", "internal/base/statefile", "internal/process/git"},
	"internal/place/workspace":          {"internal/base/fault", "internal/base/ident", "internal/base/lazy", "internal/place/decisive", "internal/place/sandbox"},
	"internal/place/worktree":           {"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/lazy", "internal/base/statefile", "internal/process/git"},

	// session
	"internal/session": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/lazy", "internal/base/poll", "internal/base/rpc",
		"internal/process/pty",
		"internal/screen", "internal/screen/eventlog", "internal/screen/replay",
		"internal/session/cell", "internal/session/home", "internal/session/wire",
	},
	"internal/session/attention": {},
	"internal/session/cell":      {"internal/base/atomicfile", "internal/base/fault", "internal/base/ident", "internal/base/journal", "internal/base/lazy", "internal/base/statefile", "internal/process/pty", "internal/screen/vt"},
	"internal/session/home": {
		"internal/base/atomicfile", "internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/lazy", "internal/base/rpc", "internal/base/statefile",
		"internal/process/tree",
		"internal/session/attention",
	},
	"internal/session/host": {
		"internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/lazy", "internal/base/poll", "internal/base/rpc", "internal/base/statefile", "internal/base/wake",
		"internal/process/pty", "internal/process/tree",
		"internal/screen", "internal/screen/eventlog", "internal/screen/keys", "internal/screen/vt",
		"internal/session/attention", "internal/session/cell", "internal/session/home", "internal/session/wire",
	},
	"internal/session/news": {
		"internal/base/fault", "internal/base/filelock", "internal/base/ident", "internal/base/statefile",
		"internal/screen/eventlog",
		"internal/session", "internal/session/cell", "internal/session/home", "internal/session/wire",
	},
	"internal/session/script": {
		"internal/base/fault", "internal/base/lazy", "internal/base/plainjson",
		"internal/screen", "internal/screen/eventlog", "internal/screen/keys", "internal/screen/render/redact", "internal/screen/replay", "internal/screen/vt",
		"internal/session", "internal/session/attention", "internal/session/cell", "internal/session/home", "internal/session/steps", "internal/session/wire",
	},
	"internal/session/steps": {
		"internal/base/fault",
		"internal/screen", "internal/screen/keys", "internal/screen/render", "internal/screen/render/redact",
		"internal/session", "internal/session/cell", "internal/session/wire",
	},
	"internal/session/terminals": {
		"internal/base/fault", "internal/base/filelock", "internal/base/ident",
		"internal/session", "internal/session/cell", "internal/session/home", "internal/session/news", "internal/session/wire",
	},
	"internal/session/wire": {"internal/screen"},

	// chat
	"internal/chat":                  {},
	"internal/chat/irc":              {"internal/base/fault", "internal/base/plainjson", "internal/base/wake"},
	"internal/chat/irc/ircd":         {"internal/base/atomicfile", "internal/base/fault", "internal/base/poll", "internal/base/statefile", "internal/chat/irc", "internal/chat/irc/ircd/history"},
	"internal/chat/irc/ircd/history": {"internal/base/fault", "internal/base/journal", "internal/base/statefile"},

	// screen
	"internal/screen":          {"internal/base/fault", "internal/screen/vt"},
	"internal/screen/eventlog": {"internal/base/atomicfile", "internal/base/fault", "internal/base/lazy"},
	"internal/screen/keys":     {"internal/base/fault", "internal/base/lazy", "internal/screen/vt"},
	"internal/screen/render":   {"internal/base/fault", "internal/base/lazy", "internal/screen", "internal/screen/render/redact", "internal/screen/vt"},
	"internal/screen/render/film": {
		"internal/base/fault",
		"internal/screen/eventlog", "internal/screen/render", "internal/screen/render/redact", "internal/screen/replay", "internal/screen/vt",
	},
	"internal/screen/render/redact": {"internal/base/fault", "internal/base/lazy", "internal/screen/vt"},
	"internal/screen/replay":        {"internal/screen/eventlog", "internal/screen/vt"},
	"internal/screen/vt":            {},

	// process
	"internal/process":      {},
	"internal/process/git":  {"internal/base/atomicfile", "internal/base/fault", "internal/base/lazy", "internal/process/tree"},
	"internal/process/pty":  {"internal/base/fault", "internal/base/lazy"},
	"internal/process/tree": {"internal/base/fault", "internal/base/filelock", "internal/base/poll", "internal/base/wake", "internal/process/pty"},

	// base
	"internal/base":             {},
	"internal/base/atomicfile":  {},
	"internal/base/build":       {},
	"internal/base/environment": {},
	"internal/base/fault":       {"internal/base/plainjson"},
	"internal/base/filelock":    {},
	"internal/base/httpguard":   {"internal/base/fault"},
	"internal/base/ident":       {"internal/base/fault"},
	"internal/base/lazy":        {},
	"internal/base/journal":     {"internal/base/atomicfile", "internal/base/fault"},
	"internal/base/mcpserver":   {"internal/base/fault", "internal/base/httpguard"},
	"internal/base/plainjson":   {},
	"internal/base/brief":       {},
	"internal/base/poll":        {},
	"internal/base/rpc":         {"internal/base/fault"},
	"internal/base/wake":        {},
	"internal/base/statefile":   {"internal/base/atomicfile", "internal/base/fault"},

	// testkit
	"internal/testkit":                         {},
	"internal/testkit/browser":                 {"internal/base/fault"},
	"internal/testkit/dashboardtest":           {"internal/base/environment", "internal/process/pty", "internal/session/home", "internal/testkit/dentest"},
	"internal/testkit/dentest":                 {},
	"internal/testkit/irctest":                 {},
	"internal/testkit/earlier":                 {},
	"internal/testkit/jail":                    {"internal/testkit/need"},
	"internal/testkit/jail/lines":              {},
	"internal/testkit/leasetest":               {},
	"internal/testkit/modelstub":               {"internal/base/fault", "internal/base/poll"},
	"internal/testkit/modelstub/cmd/modelstub": {"internal/base/fault", "internal/testkit/modelstub"},
	"internal/testkit/modelstub/realcli":       {"internal/base/environment", "internal/testkit/modelstub"},
	"internal/testkit/need":                    {},
	"internal/testkit/podmantest":              {"internal/testkit/dentest", "internal/testkit/need"},
	"internal/testkit/providertest":            {"internal/testkit/need", "internal/base/fault", "internal/base/poll", "internal/place/provider"},
	"internal/testkit/providertest/helper":     {},
	"internal/testkit/runnertest": {
		"internal/base/fault",
		"internal/agent/permission", "internal/agent/runner", "internal/agent/runner/local", "internal/agent/runner/stdio",
		"internal/testkit/modelstub", "internal/testkit/modelstub/realcli",
	},
	"internal/testkit/vttest":     {"internal/screen/vt"},
	"internal/testkit/servertest": {"internal/testkit/need"},
	"internal/testkit/spawntest":  {"internal/base/fault", "internal/agent/runner", "internal/testkit/need"},

	// tests and tools
	"acceptance":     {},
	"scripts/attack": {},
	"scripts/reach":  {},
	"scripts/media":  {"internal/base/environment", "internal/testkit/browser", "internal/testkit/modelstub", "internal/testkit/modelstub/realcli"},
	"scripts/wings":  {},
}

// outside maps a module that is not ours to the only packages that may use it.
var outside = map[string][]string{
	"github.com/pelletier/go-toml":        {"internal/place/workspace", "internal/agent/conversation/screen"},
	"github.com/goccy/go-yaml":            {"internal/place/workspace"},
	"github.com/coder/acp-go-sdk":         {"internal/agent/runner/acp"},
	"github.com/coder/websocket":          {"internal/ui/dashboard/web", "internal/testkit/browser", "internal/agent/conversation/codex"},
	"github.com/containerd/errdefs":       {"internal/place/provider/container"},
	"github.com/moby/moby":                {"internal/place/provider/container", "internal/testkit/podmantest"},
	"github.com/hashicorp/yamux":          {"internal/place/podhost", "internal/place/provider/kubernetes"},
	"k8s.io/api":                          {"internal/place/lease", "internal/testkit/leasetest", "internal/place/provider/kubernetes"},
	"k8s.io/apimachinery":                 {"internal/place/lease", "internal/testkit/leasetest", "internal/place/provider/kubernetes"},
	"k8s.io/client-go":                    {"internal/place/lease", "internal/place/provider/kubernetes"},
	"k8s.io/klog":                         {"internal/place/provider/kubernetes"},
	"k8s.io/streaming":                    {"internal/place/provider/kubernetes"},
	"github.com/netresearch/go-cron":      {"internal/ticks/wake"},
	"github.com/creack/pty":               {"internal/process/pty", "internal/testkit/providertest"},
	"github.com/fsnotify/fsnotify":        {"internal/screen/eventlog", "internal/keeper/daemon", "internal/keeper/lead", "internal/ui/dashboard", "internal/agent/conversation/watch"},
	"github.com/spf13/cobra":              {"internal/ui/cli"},
	"github.com/spf13/pflag":              {"internal/ui/cli", "internal/ui/cli/agenttty"},
	"github.com/landlock-lsm/go-landlock": {"internal/place/sandbox"},
	"golang.org/x/sys":                    {"internal/place/sandbox", "internal/base/filelock", "internal/base/rpc", "internal/process/pty", "internal/process/tree", "internal/session/home", "internal/session/host", "internal/keeper", "internal/ui/cli", "internal/ui/cli/k", "internal/place/provider/inotify", "internal/place/provider/subprocess", "internal/place/provider/subprocess/shim", "internal/place/provider/tmux/idle", "internal/agent/runner/local"},
	"golang.org/x/term":                   {"internal/ui/cli", "internal/ui/remote", "internal/testkit/providertest/helper"},
	"github.com/go-text/typesetting":      {"internal/screen/render"},
	"github.com/klauspost/compress":       {"internal/screen/render"},
	"golang.org/x/image":                  {"internal/screen/render"},
	"charm.land/bubbletea/v2":             {"internal/ui/dashboard/tui"},
	"github.com/charmbracelet/x":          {"internal/ui/dashboard/tui"},
	"charm.land/lipgloss/v2":              {"internal/ui/dashboard/tui"},
	"mvdan.cc/sh/v3":                      {"internal/agent/permission/commandline"},
	"github.com/rogpeppe/go-internal":     {}, // tests only
	"golang.org/x/tools":                  {"scripts/reach"},

	"github.com/modelcontextprotocol/go-sdk": {"internal/base/mcpserver"},
}

// unlinked must not be in the den binary: it starts in milliseconds and a
// host is small because they are not.
var unlinked = []string{"net/http", "crypto/tls", "k8s.io", "plugin", "testing", "go/ast", "database/sql"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Doc        string
	Name       string
}

func listPackages(t *testing.T, args ...string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Doc,Name"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestArrows(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		path, ours := strings.CutPrefix(p.ImportPath, "den/")
		if !ours {
			continue // the root: only tests
		}
		row, ok := allowed[path]
		if !ok {
			t.Errorf("%s: no row in the arrow table", path)
		}
		for _, imp := range p.Imports {
			if to, ours := strings.CutPrefix(imp, "den/"); ours {
				if !slices.Contains(row, to) {
					t.Errorf("%s imports %s: not in the arrow table", path, to)
				}
				continue
			}
			checkOutside(t, path, imp)
		}
	}
}

// wingOf returns the wing of a package, or "" if it is in none.
func wingOf(path string) string {
	rest, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return ""
	}
	wing, _, _ := strings.Cut(rest, "/")
	return wing
}

func TestWings(t *testing.T) {
	used := map[string]bool{}
	for _, p := range listPackages(t, "./...") {
		path, ours := strings.CutPrefix(p.ImportPath, "den/")
		wing := wingOf(path)
		if !ours || wing == "" {
			continue
		}
		used[wing] = true
		floor := slices.Index(wings, wing)
		if floor < 0 && wing != testkit {
			t.Errorf("%s is in no wing", path)
			continue
		}
		for _, imp := range p.Imports {
			to, _ := strings.CutPrefix(imp, "den/")
			switch other := wingOf(to); {
			case other == "" || wing == testkit:
			case other == testkit:
				t.Errorf("%s imports %s, which is for tests", path, to)
			case slices.Index(wings, other) < floor:
				t.Errorf("%s imports %s: %s is above %s", path, to, other, wing)
			}
		}
	}
	for _, wing := range append(slices.Clone(wings), testkit) {
		if !used[wing] {
			t.Errorf("wing %s has no packages", wing)
		} else if doc, err := os.ReadFile("internal/" + wing + "/doc.go"); err != nil || !bytes.HasPrefix(doc, []byte("// Package "+wing+" ")) {
			t.Errorf("wing %s: no doc.go that says what lives there: %v", wing, err)
		}
	}
}

func checkOutside(t *testing.T, path, imp string) {
	t.Helper()
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return // the standard library
	}
	for module, users := range outside {
		if imp == module || strings.HasPrefix(imp, module+"/") {
			if !slices.Contains(users, path) {
				t.Errorf("%s imports %s: only %v may", path, imp, users)
			}
			return
		}
	}
	t.Errorf("%s imports %s: not in the table of outside modules", path, imp)
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		if p.Name == "main" {
			if !strings.HasPrefix(p.Doc, "Command ") {
				t.Errorf("%s: the comment begins with %q, want \"Command\"", p.ImportPath, firstWord(p.Doc))
			}
			continue
		}
		if strings.HasPrefix(p.ImportPath, "den/internal/") && !strings.HasPrefix(p.Doc, "Package "+p.Name+" ") {
			t.Errorf("%s: no package comment", p.ImportPath)
		}
	}
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

func TestDenStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/den").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		for _, no := range unlinked {
			if dep == no || strings.HasPrefix(dep, no+"/") {
				t.Errorf("den links %s", dep)
			}
		}
		if dir, ok := strings.CutPrefix(dep, "den/"); ok {
			compilesAtStart(t, dir)
		}
	}
}

var patternAtStart = regexp.MustCompile(`(?m)^(var )?\t?\w+ *= regexp\.MustCompile`)

// compilesAtStart complains about regular expressions that are compiled before
// main: every call of den would pay for them.
func compilesAtStart(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if at := patternAtStart.Find(data); at != nil && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s compiles a pattern before main (%s): wrap it in sync.OnceValue", file, bytes.TrimSpace(at))
		}
	}
}

// skipping finds a test that skips itself.
var skipping = regexp.MustCompile(`\.(Skip|Skipf|SkipNow)\(`)

// TestSkipsAreTold: tests skip themselves by testkit/need alone, which fails them
// where what they lack must be there.
func TestSkipsAreTold(t *testing.T) {
	may := []string{
		"internal/testkit/need/need.go",
		"internal/testkit/modelstub/realcli/home.go", // for programs, too, that are no tests
	}
	walk(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "bench/") || slices.Contains(may, name) {
			return
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if skipping.Match(text) {
			t.Errorf("%s skips a test by itself: use testkit/need", name)
		}
	})
}
