//go:build !linux

package supervise

// forgetBinary is a saving that only Linux is asked for.
func forgetBinary() {}
