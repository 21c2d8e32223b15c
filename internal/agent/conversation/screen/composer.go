package screen

import (
	"slices"
	"strings"
)

// box is a composer that is drawn as a box with a bar at its left. The zero
// box is one that begins with a prompt.
type box struct {
	Left       string `toml:"left"`        // what each of its rows begins with
	Bottom     string `toml:"bottom"`      // what the row below it begins with
	StatusRows int    `toml:"status_rows"` // rows at its end that are no text
}

// composer is the place where a coding agent takes input, as a screen shows it.
type composer struct {
	text string // what stands there, one space between rows
	rest string // what stands there and below it, without spaces
	row  int    // where it begins; -1 for a box
}

// findComposer returns the composer of a screen, nil where none is seen. Some
// vendors draw a box or begin with a prompt, as the terminal and the mode are.
func (p *profile) findComposer(screen, prompt string) *composer {
	if p.composer.Left != "" {
		if c := p.composer.find(screen); c != nil {
			return c
		}
	}
	rows := rowsOf(screen)
	for i := len(rows) - 1; i >= 0 && i > len(rows)-40; i-- {
		if rest, ok := p.cutPrompt(rows[i], prompt); ok {
			c := promptComposer(strings.TrimSpace(rest), rows[i].indent, rows[i+1:])
			c.row = i
			return c
		}
	}
	return nil
}

// cutPrompt returns what a row has behind the prompt, or behind another of the
// vendor's.
func (p *profile) cutPrompt(r row, prompt string) (rest string, ok bool) {
	for _, one := range append([]string{prompt}, p.prompts...) {
		glyph := strings.TrimSpace(strings.ReplaceAll(one, "\u00a0", " "))
		if rest, ok := strings.CutPrefix(r.text, glyph); ok && glyph != "" {
			return rest, true
		}
	}
	return "", false
}

// promptComposer is a composer that begins with a prompt. Its further rows are
// indented.
func promptComposer(first string, indent int, below []row) *composer {
	c := &composer{text: first, rest: first}
	for i, r := range below {
		if r.blank() || r.indent <= indent {
			break
		}
		if c.text += " " + r.text; i == 0 && first == "" {
			c.text = r.text
		}
	}
	for _, r := range below {
		c.rest += r.text
	}
	c.rest = squeeze(c.rest)
	return c
}

func (b box) find(screen string) *composer {
	lines := strings.Split(screen, "\n")
	end := len(lines) - 1
	for end >= 0 && !strings.HasPrefix(strings.TrimSpace(lines[end]), b.Bottom) {
		end--
	}
	if end < 0 {
		return nil
	}
	var rows []string
	for i := end - 1; i >= 0; i-- {
		rest, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), b.Left)
		if !ok {
			break
		}
		if rest = strings.TrimSpace(rest); rest != "" {
			rows = append(rows, rest)
		}
	}
	if len(rows) < b.StatusRows {
		return nil
	}
	rows = rows[b.StatusRows:] // from the bottom
	slices.Reverse(rows)
	text := strings.Join(rows, " ")
	return &composer{text: text, rest: squeeze(text), row: -1}
}

// empty reports whether nothing stands in a composer but what its program
// writes there itself.
func (p *profile) empty(c *composer) bool {
	return c.text == "" || p.placeholders != nil && p.placeholders.MatchString(c.text)
}

// holds reports whether a composer shows the text: whole, or as the words that
// stand for a long paste, or so much of its end as fits.
func (p *profile) holds(c *composer, text string) bool {
	flat := squeeze(text)
	if strings.HasPrefix(c.rest, flat) {
		return true
	}
	if slices.ContainsFunc(p.pasted, func(mark string) bool { return strings.HasPrefix(c.rest, mark) }) {
		return true
	}
	const scrolls = 400 // a shorter text fits every composer
	runes := []rune(flat)
	return len(runes) > scrolls && strings.Contains(c.rest, string(runes[len(runes)-scrolls/4:]))
}

// asksBeside is asks for a screen whose composer may hold a text: the text is
// no menu, whatever it looks like, and words above it are history.
func (p *profile) asksBeside(screen, prompt, text string) bool {
	at := p.findComposer(screen, prompt)
	if text == "" || at == nil || at.row < 0 || !p.holds(at, text) {
		return p.asks(screen)
	}
	rows := rowsOf(screen)
	m := p.findMenu(rows)
	return m != nil && m.top > at.lastRow(rows, text) || p.flatMenu(rows) >= 0
}

// lastRow returns the row where a text ends that begins with the composer.
func (c *composer) lastRow(rows []row, text string) int {
	left := len(squeeze(text))
	for i := c.row; i < len(rows); i++ {
		if left -= len(squeeze(rows[i].text)); left <= 0 {
			return i
		}
	}
	return len(rows)
}
