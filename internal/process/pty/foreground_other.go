//go:build !linux

package pty

import "den/internal/base/fault"

// Foreground needs Linux's /proc.
func (p *PTY) Foreground() (group int, programs []Program, err error) {
	return 0, nil, fault.Errorf(fault.Unsupported, "this system does not tell what runs in the terminal's foreground")
}
