package workspace

import (
	"strconv"
	"strings"
)

// tomlLines maps the path of every key and list item of a valid TOML text to
// its line. It leans on the text being valid: the library has read it before.
// On any other text it ends too, with lines that mean nothing.
func tomlLines(text string) map[string]int {
	s := &tomlScanner{text: text, line: 1, lines: map[string]int{}, tables: map[string]int{}}
	for s.skipBlank(); s.pos < len(s.text); s.skipBlank() {
		before := s.pos
		if s.text[s.pos] == '[' {
			s.header()
		} else {
			s.keyValue(s.table, 0)
		}
		if s.pos == before {
			s.pos++ // not TOML: go on, and end
		}
	}
	return s.lines
}

type tomlScanner struct {
	text  string
	pos   int
	line  int
	table string // path of the open table
	lines map[string]int
	// tables counts the elements of each list of tables, so that [a.b] after
	// [[a]] means the last of them.
	tables map[string]int
}

func (s *tomlScanner) note(path string, line int) {
	if _, ok := s.lines[path]; !ok {
		s.lines[path] = line
	}
}

func (s *tomlScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *tomlScanner) step() {
	if s.peek() == '\n' {
		s.line++
	}
	s.pos++
}

// skipBlank goes over spaces, newlines and comments.
func (s *tomlScanner) skipBlank() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.step()
		case '#':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' {
				s.pos++
			}
		default:
			return
		}
	}
}

func (s *tomlScanner) skipSpaces() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.pos++
	}
}

// header reads [a.b] or [[a.b]] and opens that table.
func (s *tomlScanner) header() {
	line, array := s.line, strings.HasPrefix(s.text[s.pos:], "[[")
	s.pos++
	if array {
		s.pos++
	}
	path := ""
	keys := s.dottedKey()
	for i, key := range keys {
		path = joinPath(path, key)
		s.note(path, line)
		last := i == len(keys)-1
		if n, ok := s.tables[path]; ok || array && last {
			if array && last {
				s.tables[path] = n + 1
			}
			path = joinPath(path, strconv.Itoa(s.tables[path]-1))
			s.note(path, line)
		}
	}
	for s.peek() == ']' {
		s.pos++
	}
	s.table = path
}

// keyValue reads key = value below path.
func (s *tomlScanner) keyValue(path string, depth int) {
	line := s.line
	for _, key := range s.dottedKey() {
		path = joinPath(path, key)
		s.note(path, line)
	}
	s.skipSpaces()
	if s.peek() == '=' {
		s.pos++
	}
	s.value(path, depth)
}

func (s *tomlScanner) dottedKey() []string {
	var keys []string
	for {
		s.skipSpaces()
		start := s.pos
		switch s.peek() {
		case '"', '\'':
			keys = append(keys, s.quoted())
		default:
			for s.pos < len(s.text) && !strings.ContainsRune(" \t\r\n.=]#\"'", rune(s.text[s.pos])) {
				s.pos++
			}
			keys = append(keys, s.text[start:s.pos])
		}
		s.skipSpaces()
		if s.peek() != '.' {
			return keys
		}
		s.pos++
	}
}

func (s *tomlScanner) value(path string, depth int) {
	s.skipSpaces()
	s.note(path, s.line)
	switch c := s.peek(); {
	case c == '"' || c == '\'':
		s.quoted()
	case c == '[' && depth < maxDepth:
		s.within(']', func(i int) { s.value(joinPath(path, strconv.Itoa(i)), depth+1) })
	case c == '{' && depth < maxDepth:
		s.within('}', func(int) { s.keyValue(path, depth+1) })
	default:
		for s.pos < len(s.text) && !strings.ContainsRune(",]}#\r\n", rune(s.text[s.pos])) {
			s.pos++
		}
	}
}

// within reads what stands between brackets, one element a call.
func (s *tomlScanner) within(end byte, element func(i int)) {
	s.pos++
	for i := 0; s.pos < len(s.text); i++ {
		s.skipBlank()
		if s.peek() == end {
			s.pos++
			return
		}
		before := s.pos
		element(i)
		s.skipBlank()
		if s.peek() == ',' {
			s.pos++
		}
		if s.pos == before {
			s.step()
		}
	}
}

// quoted reads a string of any of the four kinds and returns its text.
func (s *tomlScanner) quoted() string {
	quote := s.text[s.pos : s.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.pos:], triple) {
		quote = triple
	}
	start := s.pos
	s.pos += len(quote)
	for s.pos < len(s.text) {
		switch {
		case s.text[s.pos] == '\\' && quote[0] == '"':
			s.step()
			s.step()
		case strings.HasPrefix(s.text[s.pos:], quote):
			s.pos += len(quote)
			for len(quote) == 3 && s.peek() == quote[0] {
				s.pos++ // up to two quotes may stand before the end
			}
			return unquoteKey(s.text[start:min(s.pos, len(s.text))])
		default:
			s.step()
		}
	}
	s.pos = len(s.text)
	return ""
}

func unquoteKey(quoted string) string {
	if quoted[0] == '"' {
		if key, err := strconv.Unquote(quoted); err == nil {
			return key
		}
	}
	return strings.Trim(quoted, quoted[:1])
}
