package irc_test

import (
	"slices"
	"testing"

	"den/internal/chat/irc"
)

func TestTagsInTopics(t *testing.T) {
	for topic, want := range map[string][]string{
		"":                                nil,
		"Build and release.":              nil,
		"Build. tags: go, ci, Release":    {"go", "ci", "release"},
		"tags: go,ci and more words":      {"go", "ci"},
		"TAGS:go":                         {"go"},
		"hashtags: none":                  nil,
		"(tags: a, a;) the rest":          {"a"},
		"spark-fox (den) tags: go,mach-l": {"go", "mach-l"},
	} {
		if got := irc.TopicTags(topic); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", topic, got, want)
		}
	}
}

// What FormatTags writes, TopicTags reads.
func TestFormatTags(t *testing.T) {
	for _, c := range []struct {
		tags []string
		text string
		read []string
	}{
		{nil, "", nil},
		{[]string{" ", ","}, "", nil},
		{[]string{"Go", "machine learning", "a,b"}, "tags: go,machine-learning,a-b", []string{"go", "machine-learning", "a-b"}},
	} {
		text := irc.FormatTags(c.tags)
		if read := irc.TopicTags("x (den) " + text); text != c.text || !slices.Equal(read, c.read) {
			t.Errorf("%q: %q, read as %q", c.tags, text, read)
		}
	}
}
