//go:build !linux

package native

import (
	"context"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// Watch is told by inotify, which this system has not.
func (p *Provider) Watch(context.Context) (<-chan provider.Event, error) {
	return nil, fault.Hintf(fault.Errorf(fault.Unsupported, "watch sessions: this system does not tell"), "ask ListRunning now and then")
}
