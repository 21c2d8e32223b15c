//go:build !linux

package pty

import "den/internal/base/fault"

// InputQueued cannot be asked here.
func (p *PTY) InputQueued() (n int, err error) {
	return 0, fault.Errorf(fault.Unsupported, "the terminal's input queue cannot be read on this system")
}
