package tmux

import (
	"context"
	"fmt"
	"time"

	"den/internal/place/provider/tmux/idle"
)

// The pauses between two looks at a program that does not wait for input:
// short at first, then longer, because looking costs.
const (
	firstReadyPause = 2 * time.Millisecond
	lastReadyPause  = 100 * time.Millisecond
)

// AwaitReady asks the kernel about the program in the pane. Where that is not
// allowed it is fault.Unsupported.
func (p *Provider) AwaitReady(ctx context.Context, name string) error {
	for wait := firstReadyPause; ; wait = min(2*wait, lastReadyPause) {
		one, err := p.running(ctx, name)
		if err != nil {
			return err
		}
		ready, err := idle.Waits(one.server, one.tty, one.pid)
		if err != nil {
			if _, gone := p.running(ctx, name); gone != nil {
				return gone
			}
			return fmt.Errorf("session '%s': %w", name, err)
		}
		if ready {
			return nil
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}
