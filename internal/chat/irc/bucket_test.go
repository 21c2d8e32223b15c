package irc_test

import (
	"slices"
	"testing"
	"time"

	"den/internal/chat/irc"
)

func TestBucket(t *testing.T) {
	now := time.Unix(1000, 0)
	b := irc.NewBucket(10, 2)
	for i, want := range []time.Duration{0, 0, 100 * time.Millisecond, 200 * time.Millisecond} {
		if got := b.Take(now); got != want {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
	if got := b.Wait(now); got != 300*time.Millisecond {
		t.Errorf("%v", got)
	}
}

func TestTopicTags(t *testing.T) {
	for topic, want := range map[string][]string{
		"":                              nil,
		"no tags here":                  nil,
		"Build. tags: go, CI, release":  {"go", "ci", "release"},
		"tags:go,ci and more text, too": {"go", "ci"},
		"TAGS: go, go, (rust).":         {"go", "rust"},
		"hashtags: x":                   nil,
		"tags:":                         nil,
		"tags: ,":                       nil,
	} {
		if got := irc.TopicTags(topic); !slices.Equal(got, want) {
			t.Errorf("TopicTags(%q) = %q, want %q", topic, got, want)
		}
	}
}
