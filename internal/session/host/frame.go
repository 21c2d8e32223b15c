package host

import (
	"context"
	"time"

	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/session/wire"
)

// maxFrames bounds how many synchronised updates a snapshot waits for: a
// program may begin the next one in the moment that one ends.
const maxFrames = 5

// snapshot captures the screen between two synchronised updates.
func (h *Host) snapshot(ctx context.Context, scrollback int) (shot wire.Snapshot, err error) {
	err = h.betweenFrames(ctx, func(t *vt.Terminal, seq uint64) {
		shot = wire.Snapshot{Seq: seq, Screen: screen.Capture(t, scrollback)}
	})
	return shot, err
}

// plainSnapshot is snapshot for the text alone.
func (h *Host) plainSnapshot(ctx context.Context) (shot wire.PlainSnapshot, err error) {
	err = h.betweenFrames(ctx, func(t *vt.Terminal, seq uint64) {
		shot = wire.PlainSnapshot{Seq: seq, Screen: screen.CapturePlain(t)}
	})
	return shot, err
}

// betweenFrames calls take once, with the screen between two synchronised
// updates. It waits for a bounded time.
func (h *Host) betweenFrames(ctx context.Context, take func(t *vt.Terminal, seq uint64)) error {
	end := time.Now().Add(maxFrames * syncPatience)
	for h.core.look(time.Now().After(end), take) {
		// A wait without conditions ends with the update.
		if _, err := h.wait(ctx, wire.Wait{Timeout: syncPatience}); err != nil {
			return err
		}
	}
	return nil
}
