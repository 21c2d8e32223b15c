package workspace

import "strings"

// maxKeyParts bounds the parts of a key in TOML, with those of the tables that
// are open around it: "a.b = { c = 1 }" has three. The library copies a key's
// whole path for each of its parts: 60,000 of them take 24 GB. The schema needs
// far fewer.
const maxKeyParts = 16

// longKey returns the line of a key with too many parts, 0 for none. It reads
// the text as TOML. Behind a mistake, where it might read something else than
// the library does, the library reads nothing.
func longKey(text string) int {
	s := keyScan{line: 1}
	for s.at = 0; s.at < len(text); {
		s.step(text)
		if s.around+s.parts > maxKeyParts {
			return s.line
		}
	}
	return 0
}

// keyScan counts the parts of keys.
type keyScan struct {
	at, line int

	parts   int  // words so far that are joined by dots
	joined  bool // a dot joins the next word to them
	inWord  bool // the last character belongs to a word
	valueOf int  // parts of the key whose value comes now

	open   []int // of each bracket that is open, the parts of the key in front of it
	around int   // their sum
}

// step takes one character, string or comment.
func (s *keyScan) step(text string) {
	c := text[s.at]
	switch {
	case c == '"' || c == '\'':
		s.word(true)
		s.skipString(text)
		s.inWord = false
		return
	case c == '#':
		if n := strings.IndexByte(text[s.at:], '\n'); n >= 0 {
			s.at += n // the line's end is the next step
		} else {
			s.at = len(text)
		}
		return
	case c == '.':
		s.joined, s.inWord = true, false
	case c == ' ' || c == '\t' || c == '\r':
		s.inWord = false
	case c == '=':
		s.valueOf = s.parts
		s.reset()
	case c == '[' || c == '{':
		s.open = append(s.open, s.valueOf)
		s.around += s.valueOf
		s.valueOf = 0
		s.reset()
	case c == ']' || c == '}':
		if last := len(s.open) - 1; last >= 0 {
			s.around -= s.open[last]
			s.open = s.open[:last]
		}
		s.reset()
	case c == '\n' || c == ',':
		if c == '\n' {
			s.line++
		}
		s.valueOf = 0
		s.reset()
	default:
		s.word(false)
	}
	s.at++
}

func (s *keyScan) reset() { s.parts, s.joined, s.inWord = 0, false, false }

// word notes a character of a word, or a string, which is a word of its own.
func (s *keyScan) word(whole bool) {
	switch {
	case s.joined:
		s.parts++
	case !s.inWord || whole:
		s.parts = 1
	}
	s.joined, s.inWord = false, true
}

// skipString goes behind a string of any of TOML's four kinds.
func (s *keyScan) skipString(text string) {
	quote := text[s.at]
	long := strings.Repeat(string(quote), 3)
	end := string(quote)
	if strings.HasPrefix(text[s.at:], long) {
		end = long
	}
	s.at += len(end)
	for ; s.at < len(text); s.at++ {
		switch c := text[s.at]; {
		case c == '\\' && quote == '"':
			s.at++ // what it escapes is no end
			if s.at < len(text) && text[s.at] == '\n' {
				s.line++
			}
		case c == '\n' && end != long:
			return // it has no end: a mistake
		case c == '\n':
			s.line++
		case strings.HasPrefix(text[s.at:], end):
			s.at += len(end)
			for n := 0; end == long && n < 2 && s.at < len(text) && text[s.at] == quote; n++ {
				s.at++ // up to two quotes may stand in front of the last three
			}
			return
		}
	}
}
