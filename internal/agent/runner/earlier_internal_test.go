package runner

import (
	"path/filepath"
	"testing"

	"den/internal/testkit/earlier"
)

// The session that an earlier build noted is resumed.
func TestEarlierState(t *testing.T) {
	dir := filepath.Join(earlier.Files(t), "keeper", "minds", "coder")
	if s, err := readState(dir, "claude"); err != nil || s.SessionID != "s1" || s.Turns != 6 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := readState(dir, "codex"); err != nil || s.SessionID != "" || s.Driver != "codex" {
		t.Errorf("of another driver: %+v, %v", s, err)
	}
}
