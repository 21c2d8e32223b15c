package screen

import (
	"slices"
	"strings"

	"den/internal/base/lazy"
)

// replyOn returns what stands on the screen of a coding agent between a message
// and the composer. The message is the last place that begins with the prompt,
// or with the bar of the vendor's box, and shows the text.
func (p *profile) replyOn(screen, prompt, text string) (reply string, found bool) {
	lines := strings.Split(screen, "\n")
	end := p.composerTop(lines, prompt)
	rows := make([]row, end)
	for i, line := range lines[:end] {
		rows[i] = newRow(line)
	}
	for i := len(rows) - 1; i >= 0; i-- {
		first, ok := p.cutPrompt(rows[i], prompt)
		if left := p.composer.Left; !ok && left != "" && strings.HasPrefix(strings.TrimSpace(lines[i]), left) {
			first, ok = rows[i].text, true
		}
		if !ok || squeeze(first) == "" {
			continue
		}
		if at := echoEnd(first, rows[i+1:], text); at >= 0 {
			return replyText(rows[i+1+at:]), true
		}
	}
	return "", false
}

// composerTop is the row where the composer begins, or the number of rows where
// none is seen.
func (p *profile) composerTop(lines []string, prompt string) int {
	at := p.findComposer(strings.Join(lines, "\n"), prompt)
	if at == nil {
		return len(lines)
	}
	if at.row >= 0 {
		return at.row
	}
	end := len(lines) - 1
	for end >= 0 && !strings.HasPrefix(strings.TrimSpace(lines[end]), p.composer.Bottom) {
		end--
	}
	for end > 0 && strings.HasPrefix(strings.TrimSpace(lines[end-1]), p.composer.Left) {
		end--
	}
	return max(0, end)
}

// timeOfDay is what an agent may write behind a message.
var timeOfDay = lazy.Regexp{Expr: `^\d{1,2}:\d\d([AP]M)?$`}

// echoEnd returns how many rows below the first a text goes on that begins
// there, and -1 where another text does.
func echoEnd(first string, below []row, text string) int {
	flat, got := squeeze(text), squeeze(first)
	for n := 0; ; n++ {
		if rest, ok := strings.CutPrefix(got, flat); ok && (rest == "" || timeOfDay.Get().MatchString(rest)) {
			return n
		}
		if n == len(below) || !strings.HasPrefix(flat, got) {
			return -1
		}
		got += squeeze(below[n].text)
	}
}

// bullets are what agents put before what they say.
const bullets = "●•✦⏺"

// replyText makes a text of rows: without blank rows around it, the bullet
// before it, and the columns that all of it is indented by.
func replyText(rows []row) string {
	first := slices.IndexFunc(rows, func(r row) bool { return !r.blank() })
	if first < 0 {
		return ""
	}
	rows = slices.Clone(rows[first:])
	for rows[len(rows)-1].blank() {
		rows = rows[:len(rows)-1]
	}
	if runes := []rune(rows[0].text); len(runes) > 1 && strings.ContainsRune(bullets, runes[0]) && runes[1] == ' ' {
		text := strings.TrimLeft(string(runes[1:]), " ")
		rows[0] = row{text: text, indent: rows[0].indent + len(runes) - len([]rune(text))}
	}
	indent := rows[0].indent
	for _, r := range rows {
		if !r.blank() {
			indent = min(indent, r.indent)
		}
	}
	var lines []string
	for _, r := range rows {
		if r.blank() {
			lines = append(lines, "")
			continue
		}
		lines = append(lines, strings.Repeat(" ", r.indent-indent)+r.text)
	}
	return strings.Join(lines, "\n")
}

// withoutLine drops the line at the end where a program takes input. prompt is
// what stands left of the cursor.
func withoutLine(lines []string, prompt string) []string {
	prompt = strings.TrimRight(prompt, " ")
	if n := len(lines); prompt != "" && n > 0 && strings.HasPrefix(lines[n-1], prompt) {
		return lines[:n-1]
	}
	return lines
}

// plainReply returns what stands behind a message among the lines of a plain
// program. old is what stood there before the message was typed, if that is
// known: then the reply is tied to the message, and an equal line is not taken
// for it.
func plainReply(lines, old []string, known bool, text string) (reply string, tied, found bool) {
	if known {
		if begin, ok := behind(lines, old); ok {
			if at := firstEcho(lines[begin:], text); at >= 0 {
				return plainText(lines[begin+at:]), true, true
			}
		}
	}
	at := lastEcho(lines, text)
	if at < 0 {
		return "", false, false
	}
	return plainText(lines[at:]), false, true
}

// behind returns the line behind those of an earlier screen. ok is false where
// they are not found: the screen was cleared, or they have scrolled away.
func behind(lines, old []string) (at int, ok bool) {
	same := func(at int) bool { return at+len(old) <= len(lines) && slices.Equal(lines[at:at+len(old)], old) }
	if len(old) < messageLines-1 { // nothing had scrolled out of view
		return len(old), same(0)
	}
	for at := len(lines) - len(old); at >= 0; at-- {
		if same(at) {
			return at + len(old), true
		}
	}
	return 0, false
}

// echoAt returns the line behind the end of a message that begins in the first
// of the lines, at its start or behind a prompt; -1 where none does. The
// message's last line counts: programs answer to that.
func echoAt(lines []string, text string) int {
	flat := squeeze(text[strings.LastIndexByte(text, '\n')+1:])
	if flat == "" {
		return -1
	}
	got, first := "", squeeze(lines[0])
	for n, line := range lines {
		got += squeeze(line)
		switch {
		case len(got)-len(flat) >= len(first):
			return -1 // what ends here began further down
		case strings.HasSuffix(got, flat):
			return n + 1
		}
	}
	return -1
}

// firstEcho returns the line behind the first place that shows a message, -1
// for none.
func firstEcho(lines []string, text string) int {
	for i := range lines {
		if n := echoAt(lines[i:], text); n >= 0 {
			return i + n
		}
	}
	return -1
}

// lastEcho is firstEcho from the end.
func lastEcho(lines []string, text string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if n := echoAt(lines[i:], text); n >= 0 {
			return i + n
		}
	}
	return -1
}

// plainText is what a plain program wrote, without blank lines around it.
func plainText(lines []string) string {
	var all []string
	for _, line := range lines {
		all = append(all, strings.TrimRight(line, " "))
	}
	return strings.Trim(strings.Join(all, "\n"), "\n")
}
