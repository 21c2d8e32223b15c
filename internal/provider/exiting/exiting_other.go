//go:build !linux

package exiting

// Nobody tells here.
func leaving() []int { return nil }

func leaves(int) bool { return false }
