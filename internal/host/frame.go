package host

import (
	"context"
	"time"

	"den/internal/wire"
)

// maxFrames bounds how many synchronised updates a snapshot waits for: a
// program may begin the next one in the moment that one ends.
const maxFrames = 5

// snapshot captures the screen between two synchronised updates, for a bounded
// time.
func (h *Host) snapshot(ctx context.Context, scrollback int) (wire.Snapshot, error) {
	end := time.Now().Add(maxFrames * syncPatience)
	for {
		shot, drawing := h.core.snapshot(scrollback, time.Now().After(end))
		if !drawing {
			return shot, nil
		}
		// A wait without conditions ends with the update.
		if _, err := h.wait(ctx, wire.Wait{Timeout: syncPatience}); err != nil {
			return wire.Snapshot{}, err
		}
	}
}
