package permission

import (
	"errors"
	"strings"

	"den/internal/agent/permission/commandline"
)

// glob is a pattern of text in which a star stands for any characters.
type glob []string // the literal parts between the stars

// globOf reads a pattern that ignores case.
func globOf(s string) glob { return strings.Split(strings.ToLower(s), "*") }

func (g glob) literal() bool { return len(g) == 1 }

// any reports that the glob is a star alone.
func (g glob) any() bool { return len(g) > 1 && strings.Join(g, "") == "" }

func (g glob) match(s string) bool {
	if g.literal() {
		return s == g[0]
	}
	if !strings.HasPrefix(s, g[0]) {
		return false
	}
	s = s[len(g[0]):]
	for _, part := range g[1 : len(g)-1] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return strings.HasSuffix(s, g[len(g)-1])
}

// fold returns the glob for text in lower case.
func (g glob) fold() glob {
	lower := make(glob, len(g))
	for i, part := range g {
		lower[i] = strings.ToLower(part)
	}
	return lower
}

// commandPattern is a pattern of a simple command: a glob for each word. A
// star alone stands for one word, and as the last word for any number.
type commandPattern []glob

var errOpenQuote = errors.New("a quote is not closed")

// parseCommandPattern reads words between blanks. Within single quotes and
// after a backslash characters stand for themselves.
func parseCommandPattern(s string) (commandPattern, error) {
	var (
		all     commandPattern
		word    glob
		literal strings.Builder
		inWord  bool
	)
	endWord := func() {
		if inWord {
			all = append(all, append(word, literal.String()))
		}
		word, inWord = nil, false
		literal.Reset()
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n':
			endWord()
			continue
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, errOpenQuote
			}
			literal.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case '\\':
			if i++; i < len(s) {
				literal.WriteByte(s[i])
			}
		case '*':
			word = append(word, literal.String())
			literal.Reset()
		default:
			literal.WriteByte(c)
		}
		inWord = true
	}
	endWord()
	return all, nil
}

// quotePattern returns the pattern that matches these words and no others.
func quotePattern(words []commandline.Word) string {
	var all []string
	for _, w := range words {
		text := w.Text
		if text == "" || strings.ContainsAny(text, " \t\n*\\'") {
			text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// certainty is whether a rule matches. Maybe is that it depends on what is not
// known.
type certainty int

const (
	no certainty = iota
	maybe
	yes
)

// match compares a pattern with words, which may be dynamic. fold ignores
// case.
func (p commandPattern) match(words []commandline.Word, fold bool) certainty {
	for i, g := range p {
		if g.any() && i == len(p)-1 {
			return yes
		}
		if len(words) == 0 {
			return no
		}
		text := words[0].Text
		if fold {
			g, text = g.fold(), strings.ToLower(text)
		}
		switch {
		case words[0].Dynamic:
			return maybe
		case !g.match(text):
			return no
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return yes
	}
	if allDynamic(words) {
		return maybe // they may expand to nothing
	}
	return no
}

func allDynamic(words []commandline.Word) bool {
	for _, w := range words {
		if !w.Dynamic {
			return false
		}
	}
	return true
}
