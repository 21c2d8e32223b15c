//go:build !linux

package native

import (
	"context"

	"den/internal/fault"
)

// Watch is told by inotify, which this system has not.
func (p *Provider) Watch(context.Context) (<-chan string, error) {
	return nil, fault.Hintf(fault.Errorf(fault.Unsupported, "watch sessions: this system does not tell"), "ask ListRunning now and then")
}
