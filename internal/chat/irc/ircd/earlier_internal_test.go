package ircd

import (
	"path/filepath"
	"testing"

	"den/internal/testkit/earlier"
)

// Channels of an earlier build are there again.
func TestEarlierChannels(t *testing.T) {
	s := &Server{cfg: Config{Dir: filepath.Join(earlier.Files(t), "keeper", "chat", "history"), Limits: Limits{Channels: 10}}, channels: map[string]*channel{}}
	if err := s.loadChannels(); err != nil {
		t.Fatal(err)
	}
	if ch := s.channels["#general"]; len(s.channels) != 2 || ch.topic != "old files" || len(ch.former) != 2 {
		t.Errorf("%v", s.channels)
	}
}
