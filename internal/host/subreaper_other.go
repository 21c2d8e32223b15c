//go:build !linux

package host

// becomeSubreaper has no counterpart here: orphans go to init.
func becomeSubreaper() error { return nil }
