//go:build !linux

package pty

// Descendants needs Linux's /proc; elsewhere it finds none.
func Descendants(int) []int { return nil }

// Processes needs Linux's /proc; elsewhere it finds none.
func Processes(int) []Process { return nil }

// Lookup needs Linux's /proc; elsewhere it finds none.
func Lookup(int) (Process, bool) { return Process{}, false }

// Marked needs Linux's /proc; elsewhere it finds none.
func Marked(string) []int { return nil }

// CommandLine needs Linux's /proc; elsewhere it is empty.
func CommandLine(int) string { return "" }
