//go:build !linux

package idle

import (
	"os"

	"den/internal/base/fault"
)

// borrow has no counterpart here.
func borrow(int, string) (*os.File, error) {
	return nil, fault.Errorf(fault.Unsupported, "this system does not tell whether a program in tmux waits for input")
}
