package cell

import (
	"slices"
	"strings"
)

// Python follows Python code line by line, as far as its REPL must be told
// where a block ends: inside a string, a bracket or a line that goes on, an
// empty line ends nothing.
type Python struct {
	quote     string // of the string that is open, or ""
	depth     int    // of open brackets
	joined    bool   // the line ended with a backslash
	decorated bool   // the last statement was a decorator: what it decorates follows
}

// Add takes the next line of the code.
func (p *Python) Add(line string) {
	if text := strings.TrimSpace(line); !p.Within() && text != "" && text[0] != '#' {
		p.decorated = strings.HasPrefix(line, "@")
	}
	p.joined = false
	for rest := line; rest != ""; {
		rest = p.step(rest)
	}
	if len(p.quote) == 1 && !p.joined { // an error, which the REPL tells
		p.quote = ""
	}
}

// step takes one token, or a character of one, and returns what follows.
func (p *Python) step(s string) string {
	if s[0] == '\\' {
		p.joined = len(s) == 1
		return s[min(2, len(s)):]
	}
	if p.quote != "" {
		if rest, ok := strings.CutPrefix(s, p.quote); ok {
			p.quote = ""
			return rest
		}
		return s[1:]
	}
	switch s[0] {
	case '#':
		return ""
	case '"', '\'':
		p.quote = s[:1]
		if triple := strings.Repeat(p.quote, 3); strings.HasPrefix(s, triple) {
			p.quote = triple
		}
		return s[len(p.quote):]
	case '(', '[', '{':
		p.depth++
	case ')', ']', '}':
		p.depth = max(0, p.depth-1)
	}
	return s[1:]
}

// Within reports whether the next line, whatever it is, goes on with a string,
// a bracket or a line.
func (p *Python) Within() bool { return p.quote != "" || p.depth > 0 || p.joined }

// Decorated reports whether what a decorator decorates is still to come.
func (p *Python) Decorated() bool { return p.decorated }

// EndsBefore reports whether a block that is not open ends before the next
// line: that one stands at the margin, and does not belong to the block.
func EndsBefore(next string) bool {
	if next == "" || next[0] == ' ' || next[0] == '\t' || next[0] == '#' {
		return false
	}
	word := next[:len(next)-len(strings.TrimLeft(next, "abcdefghijklmnopqrstuvwxyz"))]
	return !slices.Contains([]string{"else", "elif", "except", "finally"}, word)
}
