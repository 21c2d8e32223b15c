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

// upward are the imports that go up as long as dend is one package: it is the
// main function of the dashboards and of the MCP server as well.
var upward = map[string][]string{
	"internal/keeper/dend": {"internal/ui/dashboard", "internal/ui/dashboard/nights", "internal/ui/dashboard/tui", "internal/ui/dashboard/web", "internal/ui/mcp", "internal/ui/mcpserver"},
}

// allowed maps a package to the packages of ours that it may import. A
// package with no row may import none.
var allowed = map[string][]string{
	"cmd/den":  {"internal/ui/cli"},
	"cmd/dend": {"internal/keeper/dend"},

	// Wings whose folder has only a doc.go.
	"internal/base":    {},
	"internal/process": {},
	"internal/chat":    {},
	"internal/place":   {},
	"internal/ticks":   {},
	"internal/ui":      {},
	"internal/testkit": {},

	"internal/base/plainjson":    {},
	"internal/base/fault":        {"internal/base/plainjson"},
	"internal/base/ident":        {"internal/base/fault"},
	"internal/base/atomicfile":   {},
	"internal/place/sandbox":     {"internal/base/fault", "internal/base/atomicfile", "internal/process/git"},
	"internal/base/filelock":     {},
	"internal/session/attention": {},
	"internal/base/journal":      {"internal/base/fault", "internal/base/atomicfile"},

	"internal/screen/vt":         {},
	"internal/screen/keys":       {"internal/base/fault", "internal/screen/vt"},
	"internal/process/pty":       {"internal/base/fault"},
	"internal/base/rpc":          {"internal/base/fault"},
	"internal/base/httpguard":    {"internal/base/fault"},
	"internal/screen/eventlog":   {"internal/base/fault", "internal/base/atomicfile"},
	"internal/process/supervise": {"internal/base/fault", "internal/process/pty"},
	"internal/screen":            {"internal/base/fault", "internal/screen/vt"},

	"internal/session/cell": {"internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/screen/vt", "internal/process/pty"},
	"internal/session/wire": {"internal/screen"},
	"internal/session/home": {"internal/session/attention", "internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/base/filelock", "internal/process/supervise", "internal/base/rpc"},
	"internal/session/host": {
		"internal/session/attention", "internal/base/fault", "internal/base/ident", "internal/screen/vt", "internal/screen/keys", "internal/process/pty", "internal/screen/eventlog", "internal/screen",
		"internal/session/wire", "internal/session/home", "internal/session/cell", "internal/base/rpc", "internal/process/supervise", "internal/base/filelock", "internal/base/poll",
	},
	"internal/screen/replay": {"internal/base/fault", "internal/screen/vt", "internal/screen/eventlog"},

	"internal/session": {
		"internal/base/fault", "internal/base/atomicfile", "internal/base/rpc", "internal/screen", "internal/screen/eventlog", "internal/session/wire", "internal/session/home", "internal/session/cell", "internal/screen/replay", "internal/process/pty",
	},

	"internal/ui/mcpserver": {"internal/base/fault", "internal/base/httpguard"},
	"internal/session/terminals": {
		"internal/base/fault", "internal/base/ident", "internal/base/filelock", "internal/session/wire", "internal/session/home", "internal/session/cell", "internal/session",
	},
	"internal/ui/mcp": {
		"internal/base/fault", "internal/base/atomicfile", "internal/screen/keys", "internal/screen/eventlog", "internal/session/wire", "internal/session/home", "internal/session/cell", "internal/session",
		"internal/screen/render", "internal/base/httpguard", "internal/ui/mcpserver", "internal/session/terminals", "internal/agent/harness/ipc",
	},

	"internal/screen/render":        {"internal/base/fault", "internal/screen/vt", "internal/screen", "internal/screen/render/redact"},
	"internal/screen/render/redact": {"internal/base/fault", "internal/screen/vt"},
	"internal/screen/render/film": {
		"internal/base/fault", "internal/screen/vt", "internal/screen/eventlog", "internal/screen/replay", "internal/screen/render", "internal/screen/render/redact",
	},

	"internal/place/provider":          {"internal/base/fault"},
	"internal/place/provider/children": {},
	"internal/place/provider/inherit":  {},
	"internal/place/provider/procname": {"internal/base/fault"},
	"internal/place/provider/workdir":  {"internal/base/fault"},
	"internal/place/provider/local":    {"internal/base/fault", "internal/place/provider"},
	"internal/place/provider/onpty":    {"internal/process/pty", "internal/place/provider"},
	"internal/place/provider/native": {
		"internal/base/fault", "internal/base/rpc", "internal/base/ident", "internal/base/atomicfile", "internal/base/filelock", "internal/process/pty",
		"internal/session/wire", "internal/session/home", "internal/session", "internal/place/provider",
		"internal/place/provider/children", "internal/process/supervise", "internal/place/provider/inherit", "internal/place/provider/procname", "internal/place/provider/workdir", "internal/place/provider/local", "internal/place/provider/onpty",
	},
	"internal/place/provider/subprocess": {
		"internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/base/filelock", "internal/process/pty", "internal/base/rpc", "internal/session/home",
		"internal/place/provider", "internal/place/provider/subprocess/shim",
		"internal/place/provider/children", "internal/process/supervise", "internal/place/provider/inherit", "internal/place/provider/workdir", "internal/place/provider/local",
	},
	"internal/place/provider/subprocess/shim": {
		"internal/base/fault", "internal/base/atomicfile", "internal/base/filelock", "internal/process/pty", "internal/base/rpc", "internal/session/home",
		"internal/place/provider/procname", "internal/process/supervise",
	},
	"internal/testkit/providertest":        {"internal/base/fault", "internal/base/poll", "internal/place/provider"},
	"internal/testkit/providertest/helper": {},

	"internal/process/git":     {"internal/base/fault", "internal/base/atomicfile", "internal/process/supervise"},
	"internal/place/workspace": {"internal/place/sandbox", "internal/base/fault", "internal/base/ident", "internal/place/decisive"},
	"internal/place/worktree":  {"internal/base/fault", "internal/base/atomicfile", "internal/base/filelock", "internal/process/git"},
	"internal/base/poll":       {},

	"internal/agent/conversation":          {},
	"internal/agent/conversation/outbox":   {"internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/agent/conversation"},
	"internal/agent/conversation/screen":   {"internal/base/fault", "internal/base/poll", "internal/place/provider", "internal/agent/conversation", "internal/agent/conversation/outbox"},
	"internal/agent/conversation/watch":    {"internal/base/fault", "internal/agent/conversation"},
	"internal/agent/conversation/claude":   {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/copilot":  {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/gemini":   {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/opencode": {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/codex":    {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch"},
	"internal/agent/conversation/mind":     {"internal/base/fault", "internal/agent/conversation", "internal/agent/conversation/watch", "internal/agent/harness/ipc"},
	"internal/agent/conversation/sources": {
		"internal/base/fault", "internal/base/atomicfile", "internal/agent/conversation", "internal/agent/conversation/mind", "internal/agent/conversation/claude", "internal/agent/conversation/codex",
		"internal/agent/conversation/copilot", "internal/agent/conversation/gemini", "internal/agent/conversation/opencode",
	},

	"internal/agent": {
		"internal/place/sandbox", "internal/base/fault", "internal/base/ident", "internal/base/poll", "internal/place/provider", "internal/place/workspace",
		"internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/conversation/screen",
	},

	"internal/place/decisive":               {"internal/base/fault", "internal/base/atomicfile"},
	"internal/agent/permission":             {"internal/place/decisive", "internal/base/fault", "internal/base/atomicfile", "internal/base/journal", "internal/screen/render/redact", "internal/agent/permission/commandline"},
	"internal/agent/permission/commandline": {},
	"internal/testkit/jail":                 {"internal/testkit/need"}, // for tests
	"internal/testkit/jail/lines":           {},                        // for tests
	"internal/agent/budget":                 {"internal/base/fault", "internal/base/atomicfile"},
	"internal/agent/supervisor":             {"internal/base/fault", "internal/base/atomicfile", "internal/screen/render/redact", "internal/agent/permission", "internal/agent/runner"},
	"internal/agent/webhook":                {"internal/base/fault", "internal/base/ident", "internal/base/atomicfile"},
	"internal/agent/runner":                 {"internal/base/fault", "internal/base/atomicfile", "internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/permission"},
	"internal/agent/runner/script":          {"internal/base/fault", "internal/agent/runner"},
	"internal/agent/runner/stdio":           {"internal/agent/runner"},
	"internal/agent/runner/local":           {"internal/place/sandbox", "internal/base/fault", "internal/process/supervise", "internal/agent/runner"},
	"internal/agent/runner/remote":          {"internal/base/fault", "internal/process/supervise", "internal/place/provider", "internal/agent/runner", "internal/agent/runner/remote/holder"},
	"internal/agent/runner/remote/holder":   {"internal/base/fault", "internal/process/pty", "internal/process/supervise"},
	"internal/agent/runner/turn":            {"internal/agent/permission", "internal/agent/runner"},
	"internal/agent/runner/claude":          {"internal/base/fault", "internal/agent/permission", "internal/agent/runner", "internal/agent/runner/stdio", "internal/agent/runner/turn"},
	"internal/agent/runner/codex":           {"internal/base/fault", "internal/agent/permission", "internal/agent/runner", "internal/agent/runner/stdio", "internal/agent/runner/turn"},
	"internal/agent/runner/jsonrpc":         {"internal/agent/runner", "internal/agent/runner/stdio"},
	"internal/agent/runner/acp":             {"internal/base/fault", "internal/agent/permission", "internal/agent/runner", "internal/agent/runner/stdio", "internal/agent/runner/jsonrpc", "internal/agent/runner/turn"},
	"internal/agent/runner/copilot":         {"internal/base/fault", "internal/agent/permission", "internal/agent/runner", "internal/agent/runner/stdio", "internal/agent/runner/jsonrpc", "internal/agent/runner/turn"},
	"internal/agent/runner/acp/terminals": {
		"internal/place/sandbox", "internal/base/fault", "internal/base/ident", "internal/session/home", "internal/session/wire", "internal/session", "internal/agent/runner/acp",
	},
	"internal/agent/toolhook":         {},
	"internal/agent/toolhook/vendors": {"internal/base/fault", "internal/base/atomicfile", "internal/agent/permission", "internal/agent/runner/claude", "internal/agent/toolhook"},
	"internal/agent/harness/ipc":      {"internal/base/fault", "internal/base/ident", "internal/session/home", "internal/base/rpc"},
	"internal/agent/harness/turns":    {"internal/base/fault", "internal/base/journal", "internal/screen/render/redact"},
	"internal/agent/harness/onirc":    {"internal/base/fault", "internal/base/rpc", "internal/chat/irc", "internal/agent/harness", "internal/agent/harness/ipc"},
	"internal/agent/harness":          {"internal/place/sandbox", "internal/place/decisive", "internal/base/fault", "internal/screen/vt", "internal/process/pty", "internal/process/supervise", "internal/base/atomicfile", "internal/base/filelock", "internal/base/rpc", "internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/permission", "internal/agent/budget", "internal/agent/supervisor", "internal/agent/webhook", "internal/agent/runner", "internal/agent/harness/ipc", "internal/agent/harness/turns"},

	"internal/ticks/plan":       {"internal/base/fault"},
	"internal/ticks/watch":      {"internal/base/fault", "internal/base/atomicfile", "internal/base/filelock", "internal/ticks/plan"},
	"internal/ticks/toolsocket": {"internal/base/fault", "internal/base/rpc"},
	"internal/ticks/example":    {"internal/base/fault"},
	"internal/ticks/transcript": {},
	"internal/ticks/history":    {"internal/base/fault", "internal/ticks/plan", "internal/ticks/datarepo"},
	"internal/ticks/instance": {
		"internal/base/fault", "internal/base/atomicfile", "internal/base/filelock", "internal/session/home", "internal/ticks/history", "internal/ticks/plan", "internal/ticks/watch", "internal/ticks/registry", "internal/ticks/datarepo", "internal/ticks/wake",
	},
	"internal/ticks/tick": {
		"internal/base/fault", "internal/base/poll", "internal/session/home", "internal/base/rpc", "internal/agent/conversation/watch", "internal/agent/permission", "internal/agent/runner", "internal/agent/runner/script",
		"internal/ticks/plan", "internal/ticks/history", "internal/ticks/watch", "internal/ticks/instance", "internal/ticks/datarepo", "internal/ticks/hook", "internal/ticks/terminal", "internal/ticks/toolsocket",
	},
	"internal/ticks/terminal": {
		"internal/base/fault", "internal/base/atomicfile", "internal/screen/vt", "internal/screen/keys", "internal/screen/eventlog", "internal/screen", "internal/session/wire", "internal/session/home",
		"internal/session", "internal/process/pty", "internal/place/provider/procname",
	},

	"internal/ticks/box": {
		"internal/base/fault", "internal/session/home", "internal/session", "internal/process/supervise", "internal/place/workspace", "internal/place/provider", "internal/place/provider/container",
		"internal/agent/runner/remote", "internal/agent/runner/remote/holder", "internal/ticks/datarepo", "internal/ticks/instance", "internal/ticks/terminal",
	},

	"internal/chat/irc":              {"internal/base/fault", "internal/base/plainjson"},
	"internal/chat/irc/ircd/history": {"internal/base/fault", "internal/base/atomicfile"},
	"internal/chat/irc/ircd":         {"internal/base/fault", "internal/base/atomicfile", "internal/chat/irc", "internal/chat/irc/ircd/history"},
	"internal/testkit/irctest":       {"internal/base/fault", "internal/chat/irc"}, // for tests

	"internal/ticks/jsonobject": {},
	"internal/ticks/isotime":    {},
	"internal/ticks/registry":   {"internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/base/filelock", "internal/ticks/jsonobject"},
	"internal/ticks/datarepo":   {"internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/base/filelock", "internal/ticks/isotime", "internal/ticks/jsonobject"},
	"internal/ticks/wake":       {"internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/base/filelock", "internal/ticks/datarepo", "internal/ticks/isotime", "internal/ticks/jsonobject"},
	"internal/ticks/command":    {"internal/agent/runner"},
	"internal/ticks/hook":       {"internal/agent/runner", "internal/ticks/command"},
	"internal/ticks/rotate":     {"internal/base/atomicfile"},
	"internal/ticks/gitpush":    {"internal/base/fault", "internal/process/git"},

	"internal/keeper":            {"internal/place/sandbox", "internal/session/attention", "internal/base/fault", "internal/base/atomicfile", "internal/base/filelock", "internal/base/rpc", "internal/session/home", "internal/process/git"},
	"internal/keeper/controller": {"internal/base/fault", "internal/base/atomicfile", "internal/place/provider", "internal/keeper"},

	"internal/place/provider/tmux": {
		"internal/base/fault", "internal/base/filelock", "internal/process/pty", "internal/screen/keys", "internal/screen/vt", "internal/place/provider",
		"internal/process/supervise", "internal/place/provider/inherit", "internal/place/provider/procname", "internal/place/provider/workdir", "internal/place/provider/local", "internal/place/provider/onpty", "internal/place/provider/tmux/idle",
	},
	"internal/place/provider/tmux/idle": {"internal/base/fault", "internal/process/pty"},

	"internal/place/lease":       {"internal/base/fault"},
	"internal/testkit/leasetest": {}, // for tests
	"internal/place/podhost": {
		"internal/base/fault", "internal/process/pty", "internal/base/rpc", "internal/process/supervise", "internal/session/home", "internal/session",
		"internal/place/provider", "internal/place/provider/local", "internal/place/provider/procname",
	},
	"internal/place/provider/kubernetes": {
		"internal/base/fault", "internal/base/rpc", "internal/screen/eventlog", "internal/session/home", "internal/session", "internal/place/podhost", "internal/place/workspace",
		"internal/place/provider", "internal/place/provider/native", "internal/place/provider/local", "internal/place/provider/inherit",
	},
	"internal/place/provider/container": {
		"internal/base/fault", "internal/base/ident", "internal/place/provider", "internal/place/provider/native", "internal/session/home", "internal/session", "internal/place/workspace",
	},
	"internal/testkit/podmantest":   {"internal/testkit/dentest", "internal/testkit/need"}, // for tests
	"internal/place/provider/boxed": {"internal/base/fault", "internal/place/provider", "internal/place/provider/native"},
	"internal/place/provider/factory": {
		"internal/base/fault", "internal/session/home", "internal/place/workspace", "internal/place/provider",
		"internal/place/provider/native", "internal/place/provider/tmux", "internal/place/provider/subprocess", "internal/place/provider/container", "internal/place/provider/kubernetes",
	},

	"internal/keeper/dend": {
		"internal/place/decisive", "internal/place/sandbox", "internal/session/attention", "internal/session/cell", "internal/process/supervise", "internal/process/pty", "internal/agent/runner", "internal/agent/runner/local", "internal/agent/runner/script", "internal/agent/runner/claude", "internal/agent/runner/codex", "internal/agent/runner/copilot", "internal/agent/runner/acp", "internal/agent/runner/acp/terminals", "internal/session", "internal/agent/harness", "internal/agent/harness/ipc", "internal/agent/harness/onirc", "internal/chat/irc/ircd", "internal/base/atomicfile", "internal/base/poll", "internal/agent/permission", "internal/agent/budget", "internal/agent/supervisor", "internal/agent/webhook",
		"internal/base/plainjson", "internal/base/fault", "internal/session/home", "internal/base/rpc", "internal/keeper", "internal/keeper/controller", "internal/place/workspace", "internal/agent", "internal/place/provider", "internal/agent/conversation", "internal/agent/conversation/outbox", "internal/agent/conversation/sources",
		"internal/place/provider/factory", "internal/place/provider/native", "internal/place/provider/container", "internal/place/provider/kubernetes", "internal/place/provider/boxed", "internal/agent/runner/remote", "internal/agent/runner/remote/holder",
		"internal/ticks/tick", "internal/ticks/plan", "internal/ticks/watch", "internal/ticks/instance", "internal/ticks/registry", "internal/ticks/datarepo", "internal/ticks/terminal", "internal/ticks/toolsocket", "internal/ticks/rotate", "internal/ticks/gitpush", "internal/ticks/box", "internal/ui/mcpserver",
		"internal/ui/dashboard", "internal/ui/dashboard/nights", "internal/ui/dashboard/tui", "internal/ui/dashboard/web", "internal/ui/mcp",
		"internal/place/lease", "internal/place/podhost", "internal/place/provider/kubernetes", "internal/screen", "internal/session/wire", "internal/process/git", "internal/place/worktree", "internal/agent/toolhook", "internal/agent/toolhook/vendors",
	},

	"internal/ui/dashboard": {"internal/session/attention", "internal/base/fault", "internal/screen/vt", "internal/screen/eventlog", "internal/screen", "internal/session/home", "internal/session/cell", "internal/screen/replay"},
	"internal/ui/dashboard/nights": {
		"internal/base/fault", "internal/screen/eventlog", "internal/ui/dashboard",
		"internal/ticks/plan", "internal/ticks/registry", "internal/ticks/history", "internal/ticks/instance", "internal/ticks/transcript",
	},
	"internal/ui/dashboard/tui": {
		"internal/session/attention", "internal/base/fault", "internal/screen/vt", "internal/screen", "internal/session/home", "internal/screen/eventlog", "internal/session/cell", "internal/ui/dashboard",
		"internal/ui/dashboard/nights", "internal/ticks/plan", "internal/ticks/instance",
	},
	"internal/ui/dashboard/web": {
		"internal/base/fault", "internal/screen/vt", "internal/screen", "internal/session/home", "internal/screen/eventlog", "internal/ui/dashboard", "internal/ui/dashboard/nights",
		"internal/screen/render", "internal/screen/render/film", "internal/keeper", "internal/base/rpc", "internal/base/httpguard", "internal/chat/irc/ircd/history",
		"internal/agent", "internal/agent/harness/turns", "internal/base/journal", "internal/screen/keys", "internal/process/pty", "internal/session", "internal/process/supervise", "internal/session/wire",
	},
	"internal/testkit/browser":       {"internal/base/fault"},                                                       // for tests and measurements
	"internal/testkit/dashboardtest": {"internal/testkit/dentest", "internal/session/home", "internal/process/pty"}, // for tests

	"internal/ui/cli/k": {
		"internal/base/plainjson", "internal/base/fault", "internal/base/ident", "internal/base/atomicfile", "internal/screen/vt", "internal/screen/eventlog", "internal/screen", "internal/session/wire",
		"internal/session/home", "internal/session/cell", "internal/screen/replay", "internal/session",
	},
	"internal/ui/cli/agenttty": {
		"internal/base/plainjson", "internal/base/fault", "internal/base/ident", "internal/screen/vt", "internal/screen/keys", "internal/screen", "internal/session/wire", "internal/session/home", "internal/session/cell", "internal/session",
	},
	"internal/ui/cli": {
		"internal/place/decisive", "internal/session/attention", "internal/ui/cli/k", "internal/ui/cli/agenttty", "internal/agent/harness/ipc", "internal/agent/harness/turns", "internal/agent/runner/remote/holder", "internal/place/podhost", "internal/place/sandbox",
		"internal/base/plainjson", "internal/base/fault", "internal/base/rpc", "internal/process/supervise", "internal/base/ident", "internal/base/atomicfile", "internal/screen/vt", "internal/screen/keys", "internal/process/pty",
		"internal/screen/eventlog", "internal/screen", "internal/session/wire", "internal/session/home", "internal/session", "internal/session/cell", "internal/session/host", "internal/screen/replay",
		"internal/screen/render", "internal/screen/render/redact", "internal/screen/render/film",
		"internal/place/provider/subprocess/shim", "internal/keeper", "internal/place/workspace", "internal/process/git", "internal/place/worktree", "internal/agent", "internal/agent/conversation",
		"internal/ui/dashboard", "internal/ticks/registry", "internal/ticks/instance", "internal/ticks/datarepo", "internal/ticks/wake", "internal/ticks/example", "internal/ticks/toolsocket",
		"internal/ticks/history", "internal/ticks/transcript", "internal/agent/toolhook",
	},
	// For tests only.
	"internal/testkit/need":                    {},
	"internal/testkit/dentest":                 {},
	"internal/testkit/modelstub":               {"internal/base/fault"},
	"internal/testkit/modelstub/realcli":       {"internal/testkit/modelstub"},
	"internal/testkit/modelstub/cmd/modelstub": {"internal/base/fault", "internal/testkit/modelstub"},
	"internal/testkit/spawntest":               {"internal/base/fault", "internal/testkit/need", "internal/agent/runner"},
	"internal/testkit/runnertest": {
		"internal/base/fault", "internal/testkit/modelstub", "internal/testkit/modelstub/realcli", "internal/agent/permission",
		"internal/agent/runner", "internal/agent/runner/local", "internal/agent/runner/stdio",
	},
	"acceptance": {},
	// For the README.
	"scripts/attack": {},
	"scripts/media":  {"internal/testkit/browser", "internal/testkit/modelstub", "internal/testkit/modelstub/realcli"},
}

// outside maps a module that is not ours to the only packages that may use it.
var outside = map[string][]string{
	"github.com/BurntSushi/toml":          {"internal/place/workspace", "internal/agent/conversation/screen"},
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
	"github.com/fsnotify/fsnotify":        {"internal/screen/eventlog", "internal/keeper/dend", "internal/ui/dashboard", "internal/agent/conversation/watch"},
	"github.com/spf13/cobra":              {"internal/ui/cli"},
	"github.com/spf13/pflag":              {"internal/ui/cli", "internal/ui/cli/agenttty"},
	"github.com/landlock-lsm/go-landlock": {"internal/place/sandbox"},
	"golang.org/x/sys":                    {"internal/place/sandbox", "internal/base/filelock", "internal/base/rpc", "internal/process/pty", "internal/process/supervise", "internal/session/home", "internal/session/host", "internal/keeper", "internal/ui/cli", "internal/ui/cli/k", "internal/place/provider/subprocess", "internal/place/provider/subprocess/shim", "internal/place/provider/tmux/idle", "internal/agent/runner/local"},
	"golang.org/x/term":                   {"internal/ui/cli", "internal/keeper/dend", "internal/testkit/providertest/helper"},
	"github.com/go-text/typesetting":      {"internal/screen/render"},
	"github.com/klauspost/compress":       {"internal/screen/render"},
	"golang.org/x/image":                  {"internal/screen/render"},
	"charm.land/bubbletea/v2":             {"internal/ui/dashboard/tui"},
	"github.com/charmbracelet/x":          {"internal/ui/dashboard/tui"},
	"charm.land/lipgloss/v2":              {"internal/ui/dashboard/tui"},
	"mvdan.cc/sh/v3":                      {"internal/agent/permission/commandline"},
	"github.com/rogpeppe/go-internal":     {}, // tests only

	"github.com/modelcontextprotocol/go-sdk": {"internal/ui/mcpserver"},
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
			continue // the root: only this test
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
			case other == "" || wing == testkit || slices.Contains(upward[path], to):
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
