package controller

import (
	"fmt"
	"maps"
	"path"
	"slices"
)

// Keys returns the key of each agent, by its qualified name. A key is what an
// agent is known by in the state, in its queue and in its events. It is given
// once and stays: a qualified name has the agent's directory in it, and an
// agent that moves keeps its orders and its nudges.
func (c *Controller) Keys(names []string) map[string]string {
	return assignKeys(c.state.names(), names)
}

// LastUp returns the names of the agents that ran when a keeper last saw them,
// by key. known is false where no agent is remembered at all.
func (c *Controller) LastUp() (up map[string]string, known bool) {
	return c.state.up(), len(c.state.names()) > 0
}

// assignKeys is the rule: kept has the name that each key last had. A name that
// is kept has its key. An agent that is called the same as exactly one that is
// gone, but for the directory, is that one, moved. Any other is new, and its
// name is its key, unless one that moved away has that.
func assignKeys(kept map[string]string, names []string) map[string]string {
	keyOf := map[string]string{}
	for key, name := range kept {
		keyOf[name] = key
	}
	keys := map[string]string{}
	var rest []string // names that are not kept
	for _, name := range names {
		if key, ok := keyOf[name]; ok {
			keys[name] = key
			delete(keyOf, name)
		} else {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	gone, come := byBase(slices.Collect(maps.Keys(keyOf))), byBase(rest)
	for _, name := range rest {
		base := path.Base(name)
		if len(gone[base]) == 1 && len(come[base]) == 1 {
			keys[name] = keyOf[gone[base][0]]
			continue
		}
		keys[name] = freeKey(name, kept)
	}
	return keys
}

// byBase groups names by their last parts.
func byBase(names []string) map[string][]string {
	groups := map[string][]string{}
	for _, name := range names {
		groups[path.Base(name)] = append(groups[path.Base(name)], name)
	}
	return groups
}

// freeKey is name, or name with a number behind a character that no name has.
func freeKey(name string, kept map[string]string) string {
	key := name
	for n := 2; ; n++ {
		if _, taken := kept[key]; !taken {
			return key
		}
		key = fmt.Sprintf("%s~%d", name, n)
	}
}
