//go:build !linux

package unsettled

// Nobody tells here.
func all() []int { return nil }

func is(int) bool { return false }
