package cell

import (
	"slices"
	"strings"
)

// Python tracks Python code line by line, to tell where its REPL ends a block.
// An empty line ends nothing inside a string, a bracket or a continued line.
type Python struct {
	Quote     string `json:"quote,omitempty"`     // of the string that is open, or ""
	Depth     int    `json:"depth,omitempty"`     // of open brackets
	Joined    bool   `json:"joined,omitempty"`    // the line ended with a backslash
	Decorated bool   `json:"decorated,omitempty"` // the last statement was a decorator: what it decorates follows
}

// Add takes the next line of the code.
func (p *Python) Add(line string) {
	if text := strings.TrimSpace(line); !p.Within() && text != "" && text[0] != '#' {
		p.Decorated = strings.HasPrefix(line, "@")
	}
	p.Joined = false
	for rest := line; rest != ""; {
		rest = p.step(rest)
	}
	if len(p.Quote) == 1 && !p.Joined { // an error, which the REPL tells
		p.Quote = ""
	}
}

// step consumes one token, or a character of one, and returns the rest.
func (p *Python) step(s string) string {
	if s[0] == '\\' {
		p.Joined = len(s) == 1
		return s[min(2, len(s)):]
	}
	if p.Quote != "" {
		if rest, ok := strings.CutPrefix(s, p.Quote); ok {
			p.Quote = ""
			return rest
		}
		return s[1:]
	}
	switch s[0] {
	case '#':
		return ""
	case '"', '\'':
		p.Quote = s[:1]
		if triple := strings.Repeat(p.Quote, 3); strings.HasPrefix(s, triple) {
			p.Quote = triple
		}
		return s[len(p.Quote):]
	case '(', '[', '{':
		p.Depth++
	case ')', ']', '}':
		p.Depth = max(0, p.Depth-1)
	}
	return s[1:]
}

// Within reports whether the next line continues a string, a bracket or a
// line.
func (p *Python) Within() bool { return p.Quote != "" || p.Depth > 0 || p.Joined }

// open reports whether the typed input is incomplete, whatever the prompt
// says.
func (p *Python) open() bool { return p.Within() || p.Decorated }

// endsBlock is the line that ends a block.
const endsBlock = ""

// pythonBlock returns the lines still to be typed inside a block, such that
// the REPL understands them as a file would: empty lines inside a block are
// left out, and one is added where a line at the margin ends the block. An
// empty line that did not end the block is not sent again.
func pythonBlock(p Python, typed string, lines []string) []string {
	if p.Within() {
		return lines
	}
	for len(lines) > 1 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if typed != endsBlock && !p.Decorated && endsBefore(lines[0]) {
		lines = append([]string{endsBlock}, lines...)
	}
	return lines
}

// endsBefore reports whether a block ends before the next line: that line is
// not indented and does not belong to the block.
func endsBefore(next string) bool {
	if next == "" || next[0] == ' ' || next[0] == '\t' || next[0] == '#' {
		return false
	}
	word := next[:len(next)-len(strings.TrimLeft(next, "abcdefghijklmnopqrstuvwxyz"))]
	return !slices.Contains([]string{"else", "elif", "except", "finally"}, word)
}
