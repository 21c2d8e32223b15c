package codex

import (
	"path"
	"strings"
)

// innerCommand is the script of a command line that codex wrapped in a shell,
// such as /bin/bash -lc 'git status'. Others are returned as they are.
func innerCommand(line string) string {
	words, ok := splitWords(line)
	if !ok || len(words) != 3 || words[1] != "-lc" && words[1] != "-c" {
		return line
	}
	switch path.Base(words[0]) {
	case "bash", "sh", "zsh", "dash":
		return words[2]
	}
	return line
}

// splitWords splits a line as a POSIX shell would, without expanding anything.
// It reports false for an open quote.
func splitWords(line string) ([]string, bool) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
				continue
			}
		case c == '\\' && (quote == 0 || i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0):
			if i++; i == len(line) {
				return nil, false
			}
			c, inWord = line[i], true
		case quote == '"':
			if c == '"' {
				quote = 0
				continue
			}
		case c == '\'' || c == '"':
			quote, inWord = c, true
			continue
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words, inWord = append(words, word.String()), false
				word.Reset()
			}
			continue
		}
		inWord = true
		word.WriteByte(c)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0
}
