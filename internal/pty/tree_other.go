//go:build !linux

package pty

// Descendants needs Linux's /proc; elsewhere it finds none.
func Descendants(int) []int { return nil }

// Marked needs Linux's /proc; elsewhere it finds none.
func Marked(string) []int { return nil }

// CommandLine needs Linux's /proc; elsewhere it is empty.
func CommandLine(int) string { return "" }
