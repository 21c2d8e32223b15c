//go:build !linux

package host

// forgetBinary is a saving that only Linux is asked for.
func forgetBinary() {}
