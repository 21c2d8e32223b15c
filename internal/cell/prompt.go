package cell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"den/internal/vt"
)

// PromptAt returns the text left of the cursor: where a program waits for
// input, that is its prompt.
func PromptAt(t *vt.Terminal) string {
	cur := t.Cursor()
	return rowText(t.Row(cur.Row), 0, cur.Col)
}

// The patterns are compiled when they are first needed: every command of den
// links this package, and few run a cell.
var digits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })

// SamePrompt reports whether two prompts differ only in their numbers, as
// those that count or tell the time do.
func SamePrompt(a, b string) bool {
	return a == b || digits().ReplaceAllString(a, "0") == digits().ReplaceAllString(b, "0")
}

// continuation matches the prompts by which programs ask for the rest of an
// input: "... ", "> ", "-> ", "dquote> ", "   ...> ", "db-# ", "irb*".
var continuation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(\.\.\.+[>:]?|>>|-+>|['"` + "`" + `(\[{]?>|[a-z]*(quote|bquote|heredoc|for|while|if|then|else|do|cmdsubst|pipe|function|brace|subsh)>|\w*[-'"(*$]+[#>]|.*[*"'\]/]|\s*\.\.\.>)\s*$`)
})

// IsContinuation reports whether a prompt asks for the rest of an input.
// primary is the program's ordinary one.
func IsContinuation(prompt, primary string) bool {
	return !SamePrompt(prompt, primary) && continuation().MatchString(prompt)
}

// IsQuestion reports whether the text left of the cursor is more likely a
// question than a prompt that has changed: it ends in another way than the
// program's ordinary one.
func IsQuestion(text, primary string) bool {
	text, primary = strings.TrimSpace(text), strings.TrimSpace(primary)
	if text == "" || primary == "" {
		return false
	}
	last := text[len(text)-1]
	return last != primary[len(primary)-1] && strings.IndexByte("?:])", last) >= 0
}

// InBlock reports whether a prompt asks for more of a block that an empty
// line ends, as Python's does.
func InBlock(prompt, primary string) bool {
	return strings.TrimSpace(prompt) == "..." && strings.TrimSpace(primary) == ">>>"
}

// EndsBlock reports whether a line is the last of a block that an empty line
// would end, and not the inside of an open string or bracket.
func EndsBlock(line string) bool {
	trimmed := strings.TrimRight(line, " \t")
	indented := line != "" && (line[0] == ' ' || line[0] == '\t')
	word, _, _ := strings.Cut(trimmed, " ")
	return trimmed != "" && (indented || strings.HasSuffix(trimmed, ":") || slices.Contains(blockWords, word))
}

// blockWords begin a Python statement that an empty line ends.
var blockWords = []string{"for", "while", "if", "with", "def", "class", "try:", "async", "match"}
