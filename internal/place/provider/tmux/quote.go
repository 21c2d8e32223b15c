package tmux

import (
	"fmt"
	"strings"
)

// command joins words to one line of tmux's command language. Every word is
// quoted but those that are plain: flags, names and our own separators.
func command(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if plain(w) {
			b.WriteString(w)
		} else {
			quote(&b, w)
		}
	}
	return b.String()
}

// sequence is several commands that tmux runs in one go: no other client's
// command and no event comes in between. The first that is refused ends it.
func sequence(commands ...string) string { return strings.Join(commands, " ; ") }

func plain(w string) bool {
	for i := range len(w) {
		c := w[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '@' {
			return false
		}
	}
	return w != ""
}

// quote writes w in double quotes. What tmux's parser or its line reader would
// read meaning into is written as an octal escape.
func quote(b *strings.Builder, w string) {
	b.WriteByte('"')
	for i := range len(w) {
		switch c := w[i]; {
		case c < 0x20, c == 0x7f, c == '"', c == '\\', c == '$', c == '~':
			fmt.Fprintf(b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
