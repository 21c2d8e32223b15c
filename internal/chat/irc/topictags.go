package irc

import (
	"slices"
	"strings"
	"unicode"
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

// FormatTags writes tags as TopicTags reads them, "" for none. A tag of
// several words becomes one.
func FormatTags(tags []string) string {
	var words []string
	for _, tag := range tags {
		word := strings.Join(strings.FieldsFunc(tag, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }), "-")
		if word != "" {
			words = append(words, strings.ToLower(word))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "tags: " + strings.Join(words, ",")
}
