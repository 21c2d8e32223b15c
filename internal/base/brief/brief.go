// Package brief says in few characters what is shown or kept: texts that are too
// long, and how long something takes.
package brief

import (
	"fmt"
	"strings"
	"time"
)

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

// Age is a duration in its largest unit, in at most four characters up to years.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
