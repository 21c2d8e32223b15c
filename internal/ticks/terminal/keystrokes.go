package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/session/wire"
)

// strokes is what a call types.
type strokes struct {
	inputs []wire.Input
	// lines is the text in it, for its echo: Enter is pressed behind each of
	// them, behind the last one only with entered.
	lines   []string
	entered bool
}

// Keys that text may be alone. Longer names and other modifiers are for keys.
var keyNames = []string{
	"Enter", "Escape", "Space", "Tab", "BSpace", "DC", "IC", "Up", "Down", "Left", "Right", "Home", "End", "PPage", "NPage",
	"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12",
}

// isKeyName reports whether text is the name of one key: one of the list, or
// C- or M- and one or two characters that are a key.
func isKeyName(text string) bool {
	if slices.Contains(keyNames, text) {
		return true
	}
	rest, ctrl := strings.CutPrefix(text, "C-")
	if !ctrl {
		var meta bool
		if rest, meta = strings.CutPrefix(text, "M-"); !meta {
			return false
		}
	}
	if n := utf8.RuneCountInString(rest); n < 1 || n > 2 || strings.TrimSpace(rest) != rest {
		return false
	}
	_, err := keys.Parse(text)
	return err == nil
}

// parseText reads the text of a call: the name of one key, or literal text, which
// is entered unless enter says otherwise.
func parseText(text string, enter *bool) (strokes, error) {
	if err := checkText(text); err != nil {
		return strokes{}, err
	}
	if isKeyName(text) {
		return keyStrokes(text, enter != nil && *enter), nil
	}
	entered := enter == nil || *enter
	if entered { // a newline at the end is the Enter that is pressed anyway
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	return literal(text, entered), nil
}

func keyStrokes(name string, enter bool) strokes {
	s := strokes{inputs: []wire.Input{{Keys: []string{name}}}, entered: enter || name == "Enter"}
	if enter {
		s.inputs = append(s.inputs, wire.Input{Keys: []string{"Enter"}})
	}
	s.lines = []string{""}
	return s
}

// literal is text as it is. Several lines are pasted, which keeps a program
// that knows pastes from running them one by one, or from indenting them.
func literal(text string, enter bool) strokes {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	s := strokes{entered: enter, lines: strings.Split(text, "\n")}
	switch {
	case text == "": // a newline alone
		s.inputs = []wire.Input{{Keys: []string{"Enter"}}}
	case len(s.lines) > 1 && !hasControl(text):
		s.inputs = []wire.Input{{Paste: &text, Enter: enter}}
	default:
		s.inputs = []wire.Input{{Text: &text, Enter: enter}}
	}
	return s
}

// hasControl reports whether text has characters that a paste would not pass on.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\r' && r != '\t' && (r < ' ' || r >= 0x7f && r <= 0x9f)
	})
}

func checkText(text string) error {
	switch {
	case len(text) > maxText:
		return fault.Hintf(fault.Errorf(fault.Usage, "the text has %d bytes; at most %d can be typed at once", len(text), maxText),
			"write it to a file, and have the program read that")
	case !utf8.ValidString(text):
		return fault.Errorf(fault.Usage, "the text is not UTF-8")
	}
	return nil
}

// parseKeys reads a sequence of text and keys in angle brackets, as Vim writes
// them: "<Esc>:wq<Enter>". <lt> is a literal "<". Nothing is entered unless enter
// says so.
func parseKeys(sequence string, enter bool) (strokes, error) {
	if err := checkText(sequence); err != nil {
		return strokes{}, err
	}
	p := sequenceParser{rest: sequence}
	for p.rest != "" {
		if err := p.step(); err != nil {
			return strokes{}, err
		}
	}
	if enter {
		p.press("Enter")
	}
	p.flush()
	if !p.entered {
		p.lines = append(p.lines, p.line)
	}
	return strokes{inputs: p.inputs, lines: p.lines, entered: p.entered}, nil
}

// sequenceParser reads the sequence of parseKeys.
type sequenceParser struct {
	rest   string
	text   string // that was read and is not in inputs yet
	keys   []string
	inputs []wire.Input

	line    string // since the last Enter
	lines   []string
	entered bool // by the last key
}

// step reads text up to the next key, or one key.
func (p *sequenceParser) step() error {
	i := strings.IndexByte(p.rest, '<')
	if i != 0 {
		if i < 0 {
			i = len(p.rest)
		}
		p.write(p.rest[:i])
		p.rest = p.rest[i:]
		return nil
	}
	name, rest, closed := strings.Cut(p.rest[1:], ">")
	if !closed {
		return badKey(p.rest, "it has no '>'")
	}
	p.rest = rest
	if strings.EqualFold(name, "lt") {
		p.write("<")
		return nil
	}
	if utf8.RuneCountInString(name) == 1 {
		return badKey("<"+name+">", "a character is typed without brackets")
	}
	if _, err := keys.Parse(name); err != nil {
		return badKey("<"+name+">", err.Error())
	}
	p.press(name)
	return nil
}

func badKey(what, why string) error {
	const longest = 40
	if len(what) > longest {
		what = strings.ToValidUTF8(what[:longest], "") + "…"
	}
	return fault.Hintf(fault.Errorf(fault.Usage, "keys: %q is no key: %s", what, why),
		"keys stand in angle brackets, such as <Esc>, <C-c>, <Down*5>; <lt> is a literal '<'; text without keys belongs into text")
}

// write adds literal text.
func (p *sequenceParser) write(text string) {
	if len(p.keys) > 0 {
		p.flush()
	}
	p.text += text
	p.line += text
	p.entered = false
}

// press adds a key.
func (p *sequenceParser) press(name string) {
	if p.text != "" {
		p.flush()
	}
	p.keys = append(p.keys, name)
	if chord, err := keys.Parse(name); err == nil && chord.Once().String() == "Enter" {
		for range chord.Times() {
			p.lines = append(p.lines, p.line)
			p.line = ""
		}
		p.entered = true
		return
	}
	p.entered = false
}

// flush moves what was read to inputs.
func (p *sequenceParser) flush() {
	if p.text != "" {
		text := p.text
		p.inputs = append(p.inputs, wire.Input{Text: &text})
	}
	if len(p.keys) > 0 {
		p.inputs = append(p.inputs, wire.Input{Keys: p.keys})
	}
	p.text, p.keys = "", nil
}
