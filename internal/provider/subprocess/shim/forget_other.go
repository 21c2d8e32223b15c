//go:build !linux

package shim

// forgetBinary has no counterpart here.
func forgetBinary() {}
