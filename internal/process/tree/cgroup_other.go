//go:build !linux

package tree

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

// childless cannot be asked without taking a child's status away.
func childless() bool { return false }

// Deletions does not tell here.
func Deletions(*os.File) (deleted <-chan os.Signal, end func()) { return nil, func() {} }

// forgetBinary is a saving that only Linux is asked for.
func forgetBinary() {}

// ownMemory is known on Linux only.
func ownMemory() (int, bool) { return 0, false }

// BecomeSubreaper has no counterpart here: orphans go to init.
func BecomeSubreaper() error { return nil }

// Only Linux tells.
func inTransition() []int { return nil }

func isInTransition(int) bool { return false }
