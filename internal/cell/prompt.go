package cell

import (
	"regexp"
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

// TextLeft returns the text left of a place of the screen.
func TextLeft(t *vt.Terminal, line int64, col int) string {
	return rowText(t.Row(int(line-t.ScreenLine())), 0, col)
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
