package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/build"
	"den/internal/ui/cli/agenttty"
	"den/internal/ui/cli/k"
)

// asOther runs den as k, km or agent-tty, if it was started by one of these
// names.
func (a *app) asOther(args []string) (status int, ok bool) {
	tool := k.Tool{Environ: a.environ, Getenv: a.getenv, Stdout: a.text, Stderr: a.stderr, Version: build.Version}
	switch filepath.Base(args[0]) {
	case "agent-tty":
		return a.asAgentTTY(tool, args[1:]), true
	case "k":
		return tool.Main(args[1:]), true
	case "km":
		return tool.Monitor(args[1:]), true
	}
	return 0, false
}

// asAgentTTY runs den as agent-tty. Two tools have that name: one is k, the
// other is coder's. den's own verbs that neither has are taken too.
func (a *app) asAgentTTY(tool k.Tool, words []string) int {
	den := func(stdout, stderr io.Writer, args ...string) int {
		if stdout == nil {
			stdout, stderr = a.stdout, a.stderr
		}
		return Main(append([]string{"den"}, args...), a.environ, a.stdin, stdout, stderr)
	}
	switch {
	case agenttty.Knows(words):
		ctx, stop := untilSignalled()
		defer stop()
		status := agenttty.Tool{
			Environ: a.environ, Getenv: a.getenv, Stdout: a.text, Stderr: a.stderr, Version: build.Version, Den: den,
		}.Main(ctx, words)
		var by signalled
		if errors.As(context.Cause(ctx), &by) {
			return by.status()
		}
		return status
	case a.isDens(words):
		return den(nil, nil, words...)
	}
	return tool.Main(words)
}

// isDens reports whether the words are one of den's verbs and none of k's.
func (a *app) isDens(words []string) bool {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || slices.Contains(k.Verbs, words[0]) {
		return false
	}
	cmd, _, err := newRoot(a, words).Find(words)
	return err == nil && cmd.HasParent()
}

// asCulture translates the words of the harness specification's own tools,
// when den is called by their names: 'culture channel send', 'irc_client send'.
// It returns false for other names.
func asCulture(args []string) ([]string, bool) {
	var words []string
	switch filepath.Base(args[0]) {
	case "irc_client":
		words = append([]string{"channel"}, args[1:]...)
	case "culture":
		words = slices.Clone(args[1:])
	default:
		return nil, false
	}
	if len(words) > 1 {
		words = cultureWords(words[0], words[1], words[2:])
	}
	return append([]string{"den"}, words...), true
}

// cultureWords translates a noun, a verb and the rest; what is not known stays.
func cultureWords(noun, verb string, rest []string) []string {
	switch {
	case noun == "agent" || noun == "agents":
		return cultureAgentWords(verb, rest)
	case noun == "channel" && verb == "message":
		verb = "send"
	case noun == "channel" && verb == "list":
		verb = "channels"
	}
	return append([]string{noun, verb}, rest...)
}

// cultureAgentVerbs are den's words for a verb on one agent, and on all.
var cultureAgentVerbs = map[string]struct{ one, all string }{
	"start":   {"agent start", "up"},
	"stop":    {"agent stop", "down"},
	"status":  {"harness status", "ps"},
	"sleep":   {"harness pause", ""},
	"wake":    {"harness resume", ""},
	"message": {"agent ask", ""},
}

// cultureAgentWords translates a verb on agents. Without a nick, or with --all,
// it is about the workspace.
func cultureAgentWords(verb string, rest []string) []string {
	var args, file []string
	all := false
	for i := 0; i < len(rest); i++ {
		switch value, inOne := strings.CutPrefix(rest[i], "--config="); {
		case inOne:
			file = []string{"--file", value}
		case rest[i] == "--config" && i+1 < len(rest):
			i++
			file = []string{"--file", rest[i]}
		case rest[i] == "--all":
			all = true
		default:
			args = append(args, rest[i])
		}
	}
	known := cultureAgentVerbs[verb]
	named := !all && len(args) > 0 && !strings.HasPrefix(args[0], "-")
	words := []string{"agent", verb}
	switch {
	case named && known.one != "":
		words = strings.Fields(known.one)
	case !named && known.all != "":
		words = strings.Fields(known.all)
	}
	if words[0] == "harness" {
		file = nil // the nick alone leads to its socket
	}
	return slices.Concat(words, file, args)
}
