package vt

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what a program can store by name.
const (
	maxTitle      = 4 << 10
	maxTitleStack = 16
	maxClipboard  = 512 << 10
)

// names holds the titles, directory and clipboard that a program has set.
type names struct {
	title, icon           string
	titleStack, iconStack []string
	dir                   string // OSC 7, as given
	clipboard             []byte // nil until written
}

// Title returns the window title.
func (t *Terminal) Title() string { return t.names.title }

// IconName returns the icon name.
func (t *Terminal) IconName() string { return t.names.icon }

// WorkingDir returns the working directory as the program reported it by
// OSC 7: usually a file URL.
func (t *Terminal) WorkingDir() string { return t.names.dir }

// Clipboard returns what the program last wrote to the clipboard by OSC 52.
// It touches no real clipboard.
func (t *Terminal) Clipboard() (data []byte, ok bool) {
	return t.names.clipboard, t.names.clipboard != nil
}

// cleanText makes a program's string safe to store and to send back: valid
// UTF-8, no controls, bounded.
func cleanText(b []byte, limit int) string {
	s := strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\uFFFD"))
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func pushName(stack []string, s string) []string {
	if len(stack) >= maxTitleStack {
		stack = stack[1:]
	}
	return append(stack[:len(stack):len(stack)], s)
}

func popName(stack []string, s *string) []string {
	if len(stack) == 0 {
		return stack
	}
	*s = stack[len(stack)-1]
	return stack[:len(stack)-1]
}

func (n *names) push(which int) {
	if which != 2 {
		n.iconStack = pushName(n.iconStack, n.icon)
	}
	if which != 1 {
		n.titleStack = pushName(n.titleStack, n.title)
	}
}

func (n *names) pop(which int) {
	if which != 2 {
		n.iconStack = popName(n.iconStack, &n.icon)
	}
	if which != 1 {
		n.titleStack = popName(n.titleStack, &n.title)
	}
}
