package supervisor

import (
	"path/filepath"
	"testing"

	"den/internal/testkit/earlier"
)

// What an earlier build's supervisor knew is known.
func TestEarlierSupervisor(t *testing.T) {
	s := New(Options{File: filepath.Join(earlier.Files(t), "keeper", "minds", "coder", "supervisor.json"), Log: func(line string) { t.Error(line) }})
	if len(s.known.Window) < 5 || s.known.Window[0].Text != "say one" {
		t.Errorf("%+v", s.known)
	}
}
