//go:build !linux

package pty

// HasEnv cannot be asked here.
func HasEnv(int, string) bool { return false }

// Env cannot be asked here.
func Env(int, string) (value string, ok bool) { return "", false }

// Arguments cannot be asked here.
func Arguments(int) []string { return nil }

// Environ cannot be asked here.
func Environ(int) []byte { return nil }
