//go:build !linux

package supervise

import (
	"os"
	"time"

	"den/internal/process/pty"
)

// Cgroup needs Linux; elsewhere there is none.
type Cgroup struct{ Path string }

// NewCgroup makes none.
func NewCgroup(string) Cgroup { return Cgroup{} }

// SessionCgroup is none.
func SessionCgroup(string) Cgroup { return Cgroup{} }

// Open opens none.
func (Cgroup) Open() (*os.File, error) { return nil, nil }

// Belongs is never true.
func (Cgroup) Belongs(string) bool { return false }

// Sweep kills none.
func (Cgroup) Sweep() (int, error) { return 0, nil }

func (Cgroup) own() []pty.Process { return nil }

func (Cgroup) kill() error { return nil }

// Remove removes none.
func (Cgroup) Remove() {}

// RemoveEmptyCgroups removes none.
func RemoveEmptyCgroups(time.Time) error { return nil }

func outsideSessions() *os.File { return nil }
