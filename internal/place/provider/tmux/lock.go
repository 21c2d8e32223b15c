package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"os"

	"den/internal/base/fault"
	"den/internal/base/filelock"
)

// lock takes a lock that holds across goroutines and processes until the file
// is closed. All locks of a server are offsets in one file beside its socket,
// so none is left over.
func (p *Provider) lock(ctx context.Context, what string) (*os.File, error) {
	sum := sha256.Sum256([]byte(what))
	offset := int64(binary.BigEndian.Uint64(sum[:8]) >> 2) // offset+1 must not overflow
	f, err := filelock.WaitAt(ctx, p.socket+".den-lock", offset)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "wait for a lock of the tmux server: %w", err)
	}
	return f, nil
}
