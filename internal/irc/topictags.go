package irc

import (
	"slices"
	"strings"
)

// TopicTags returns the tags that a channel carries in its topic: the words
// after "tags:" up to the first that does not end in a comma, in lower case
// and each once.
//
//	Build and release. tags: go, ci, release
func TopicTags(topic string) []string {
	lower := strings.ToLower(topic)
	at := strings.Index(lower, "tags:")
	if at < 0 || at > 0 && isNameRune(rune(lower[at-1])) {
		return nil
	}
	var tags []string
	for _, word := range strings.Fields(lower[at+len("tags:"):]) {
		for tag := range strings.SplitSeq(word, ",") {
			if tag = strings.Trim(tag, ".;()[]"); tag != "" && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		if !strings.HasSuffix(word, ",") {
			break
		}
	}
	return tags
}
