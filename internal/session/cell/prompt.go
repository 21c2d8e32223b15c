package cell

import (
	"strings"
	"unicode/utf8"

	"den/internal/base/lazy"
	"den/internal/screen/vt"
)

// PromptAt returns the text left of the cursor. If the program waits for
// input, that is its prompt.
func PromptAt(t *vt.Terminal) string {
	cur := t.Cursor()
	return rowText(t.Row(cur.Row), 0, cur.Col)
}

// AroundCursor returns the text left of the cursor and the rest of its row,
// without blanks at the end, and whether something stands in the rows below.
func AroundCursor(t *vt.Terminal) (left, behind string, below bool) {
	cols, rows := t.Size()
	cur := t.Cursor()
	behind = strings.TrimRight(rowText(t.Row(cur.Row), cur.Col, cols), " ")
	for row := cur.Row + 1; row < rows && !below; row++ {
		below = strings.TrimSpace(rowText(t.Row(row), 0, cols)) != ""
	}
	return PromptAt(t), behind, below
}

// NothingBehindCursor reports whether the screen is blank from the cursor on.
func NothingBehindCursor(t *vt.Terminal) bool {
	_, behind, below := AroundCursor(t)
	return strings.TrimSpace(behind) == "" && !below
}

// TextLeft returns the text left of a position on the screen.
func TextLeft(t *vt.Terminal, line int64, col int) string {
	return rowText(t.Row(int(line-t.ScreenLine())), 0, col)
}

// Patterns are compiled on first use: every command of den links this package,
// and few run a cell.
var digits = lazy.Regexp{Expr: `[0-9]+`}

// SamePrompt reports whether two prompts differ only in digits. Some prompts
// contain a counter or the time.
func SamePrompt(a, b string) bool {
	return a == b || digits.Get().ReplaceAllString(a, "0") == digits.Get().ReplaceAllString(b, "0")
}

// pathText matches what a shell may show of its directory.
var pathText = lazy.Regexp{Expr: `^[\pL\pN~/._+@-]*$`}

// OtherPath reports whether two prompts of a shell differ only in the directory
// that they show before the same $, # or %.
func OtherPath(a, b string) bool {
	same := commonPrefix(a, b)
	a, b = a[same:], b[same:]
	tail := commonSuffix(a, b)
	end := strings.TrimSpace(a[len(a)-tail:])
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	isShell := end != "" && strings.IndexByte("$#%", end[len(end)-1]) >= 0
	// With nothing else in common one of them must look like a path.
	paths := same > 0 || strings.ContainsAny(a+b, "~/")
	return isShell && paths && pathText.Get().MatchString(a) && pathText.Get().MatchString(b)
}

func commonPrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// continuation matches the prompts for the rest of an unfinished input: "...
// ", "> ", "-> ", "dquote> ", "   ...> ", "db-# ", "irb*".
var continuation = lazy.Regexp{Expr: `^\s*(\.\.\.+[>:]?|>>|-+>|['"` + "`" + `(\[{]?>|[a-z]*(quote|bquote|heredoc|for|while|if|then|else|do|cmdsubst|pipe|function|brace|subsh)>|\w*[-'"(*$]+[#>]|.*[*"'\]/]|\s*\.\.\.>)\s*$`}

// IsContinuation reports whether prompt asks for the rest of an unfinished
// input. primary is the program's normal prompt.
func IsContinuation(prompt, primary string) bool {
	return !SamePrompt(prompt, primary) && continuation.Get().MatchString(prompt)
}

// IsQuestion reports whether the text left of the cursor is more likely a
// question than a changed prompt: it ends differently from the normal prompt.
func IsQuestion(text, primary string) bool {
	text, primary = strings.TrimSpace(text), strings.TrimSpace(primary)
	if text == "" || primary == "" {
		return false
	}
	last := text[len(text)-1]
	return last != primary[len(primary)-1] && strings.IndexByte("?:])", last) >= 0
}

// asksBetween reports whether a program that has read a line of code asks something,
// and does not wait for the next line: that is no answer.
func asksBetween(text, primary string) bool {
	return primary != "" && (text == "" || IsQuestion(text, primary)) && !IsContinuation(text, primary)
}

// endsAsQuestion reports whether the text left of the cursor ends as questions
// and prompts do.
func endsAsQuestion(text string) bool {
	text = strings.TrimSpace(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	return text != "" && strings.ContainsRune("?:])>$›»❯", last)
}

// InBlock reports whether prompt asks for more of a block that is ended by an
// empty line, as in Python.
func InBlock(prompt, primary string) bool {
	return strings.TrimSpace(prompt) == "..." && strings.TrimSpace(primary) == ">>>"
}
