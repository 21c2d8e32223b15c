package cli

import (
	"path/filepath"
	"slices"
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
		words = append(cultureWords(words[0], words[1]), words[2:]...)
	}
	return append([]string{"den"}, words...), true
}

// cultureWords translates a noun and a verb; what is not known stays.
func cultureWords(noun, verb string) []string {
	known := map[[2]string][]string{
		{"channel", "message"}: {"channel", "send"}, {"channel", "list"}: {"channel", "channels"},
		{"agents", "status"}: {"ps"}, {"agent", "status"}: {"ps"},
	}
	if words, ok := known[[2]string{noun, verb}]; ok {
		return words
	}
	if noun == "agents" {
		noun = "agent"
	}
	return []string{noun, verb}
}
