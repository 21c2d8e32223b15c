//go:build !linux

package supervise

// forgetBinary is a saving that only Linux is asked for.
func forgetBinary() {}

// ownMemory is known on Linux only.
func ownMemory() (int, bool) { return 0, false }
