// Package brief cuts text that is too long to be shown or kept.
package brief

import "strings"

// Bytes cuts text to n bytes at most, at the end of a character, and reports
// whether anything is missing.
func Bytes(text string, n int) (short string, cut bool) {
	if len(text) <= n {
		return text, false
	}
	return strings.ToValidUTF8(text[:n], ""), true
}

// Runes cuts text to n characters at most, the last of which is then "…".
func Runes(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}
