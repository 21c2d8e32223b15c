//go:build !linux

package podhost

import "context"

// reap has nothing to do: pods run Linux.
func (f *first) reap(ctx context.Context) { <-ctx.Done() }
