package workspace

import "fmt"

// unreadSections and unreadKeys are parts of the schema that den accepts, so
// that one file can serve all of its releases, and that this build does
// nothing with. A row goes when its part comes.
var (
	unreadSections = []string{"supervisor", "webhooks"}
	unreadKeys     = []string{"kubernetes", "channels", "tags", "thinking", "options"}
)

// unread warns of what a file asks for and will not get.
func unread(tree *node) []string {
	var warnings []string
	warn := func(n *node, key string) {
		if n != nil {
			warnings = append(warnings, fmt.Sprintf("%s: '%s' has no effect: this den does not do that yet", n.origin, key))
		}
	}
	for _, key := range unreadSections {
		warn(tree.get(key), key)
	}
	for _, key := range []string{"host", "port"} {
		warn(tree.get("server").get(key), "server."+key) // its name can name the workspace
	}
	warn(tree.get("session").get("kubernetes"), "session.kubernetes")
	for _, agent := range orEmptyList(tree.get("agents")).items {
		for _, key := range unreadKeys {
			warn(agent.get(key), key)
		}
	}
	for _, key := range unreadKeys {
		warn(tree.get("defaults").get(key), "defaults."+key)
	}
	return warnings
}
