//go:build !linux

package supervise

// BecomeSubreaper has no counterpart here: orphans go to init.
func BecomeSubreaper() error { return nil }
