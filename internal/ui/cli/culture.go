package cli

import (
	"path/filepath"
	"slices"
	"strings"
)

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
