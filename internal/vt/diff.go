package vt

// Diff returns "" when two terminals are equal in every observable way, else
// the first difference in words.
func Diff(a, b *Terminal) string { return "" }
