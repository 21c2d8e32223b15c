package workspace

import "fmt"

// unreadSections and unreadKeys are parts of the schema that den accepts, so
// that one file can serve all of its releases, and that this build does
// nothing with. A row goes when its part comes.
var (
	unreadSections = []string{}
	unreadKeys     = []string{"kubernetes", "tags"}
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
	warn(tree.get("session").get("kubernetes"), "session.kubernetes")
	for _, agent := range orEmptyList(tree.get("agents")).items {
		for _, key := range unreadKeys {
			warn(agent.get(key), key)
		}
		if agent.get("agent") == nil && (agent.get("provider") != nil || agent.get("start_command") != nil) && agent.get("channels") != nil {
			warnings = append(warnings, fmt.Sprintf("%s: 'channels' has no effect: an agent that is driven by its screen is in none; set 'agent'", agent.get("channels").origin))
		}
	}
	for _, key := range unreadKeys {
		warn(tree.get("defaults").get(key), "defaults."+key)
	}
	return warnings
}
