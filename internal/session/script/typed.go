package script

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"den/internal/base/lazy"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
)

// token is a part of what was typed: text, a paste or a key.
type token struct {
	text  string
	paste bool
	key   string // or ""
}

// keyboard tells keys from the bytes that they send in a terminal's modes.
type keyboard struct {
	modes vt.Modes
	names map[string]string // by bytes
	most  int               // bytes of one
}

// newKeyboard asks what each key sends. Of several with the same bytes the
// simplest name is taken.
func newKeyboard(m vt.Modes) *keyboard {
	k := &keyboard{modes: m, names: map[string]string{}}
	for _, name := range []string{"Enter", "Tab", "Escape", "Backspace"} {
		k.add(name)
	}
	for _, mod := range []string{"", "S-", "M-", "C-", "C-S-", "C-M-", "M-S-", "C-M-S-"} {
		for _, name := range keys.Names() {
			if mod+name != "Space" && (name != "Escape" || !strings.Contains(mod, "M-")) { // two Escapes are two
				k.add(mod + name)
			}
		}
		if mod == "" {
			continue
		}
		for c := byte('!'); c <= '~'; c++ {
			if c < 'A' || c > 'Z' {
				k.add(mod + string(c))
			}
		}
	}
	return k
}

// add is for a name that may not be one, or that the modes cannot express.
func (k *keyboard) add(name string) {
	chord, err := keys.Parse(name)
	if err != nil {
		return
	}
	raw, err := chord.Encode(k.modes)
	switch {
	case err != nil || len(raw) == 0 || len(raw) == 1 && raw[0] >= ' ' && raw[0] < 0x7f:
		return // a character, which text is
	case string(raw) == "\x1b\x1b":
		return // two Escapes, which somebody presses, and not Ctrl, Alt and 3 of the keypad
	}
	if _, ok := k.names[string(raw)]; !ok {
		k.names[string(raw)] = name
		k.most = max(k.most, len(raw))
	}
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// tokens splits what was typed.
func (k *keyboard) tokens(raw []byte) (all []token) {
	text := func(s string) {
		if n := len(all); n > 0 && all[n-1].key == "" && !all[n-1].paste {
			all[n-1].text += s
			return
		}
		all = append(all, token{text: s})
	}
	for len(raw) > 0 {
		if rest, ok := bytes.CutPrefix(raw, []byte(pasteBegin)); ok && k.modes.BracketedPaste {
			if body, behind, ok := bytes.Cut(rest, []byte(pasteEnd)); ok {
				all = append(all, token{paste: true, text: strings.ReplaceAll(string(body), "\r", "\n")})
				raw = behind
				continue
			}
		}
		if name, n := k.mouse(raw); n > 0 {
			all, raw = append(all, token{key: name}), raw[n:]
			continue
		}
		if name, n := k.key(raw); n > 0 {
			all, raw = append(all, token{key: name}), raw[n:]
			continue
		}
		_, n := utf8.DecodeRune(raw)
		text(string(raw[:n]))
		raw = raw[n:]
	}
	return all
}

// key finds the longest key.
func (k *keyboard) key(raw []byte) (name string, n int) {
	for n := min(k.most, len(raw)); n > 0; n-- {
		if name, ok := k.names[string(raw[:n])]; ok {
			return name, n
		}
	}
	return "", 0
}

var sgrMouse = lazy.Regexp{Expr: `^\x1b\[<\d+;(\d+);(\d+)[Mm]`}

// mouse finds what a mouse did. The position stands in the bytes, and each action
// is tried there.
func (k *keyboard) mouse(raw []byte) (name string, n int) {
	m := sgrMouse.Get().FindSubmatch(raw)
	if m == nil || k.modes.Mouse == 0 {
		return "", 0
	}
	var row, col int
	fmt.Sscan(string(m[2]), &row) // Best effort: digits.
	fmt.Sscan(string(m[1]), &col)
	for _, action := range []string{"DoubleClick", "Click", "RightClick", "MiddleClick", "WheelUp", "WheelDown", "WheelLeft", "WheelRight", "Press", "Release", "Move"} {
		for _, mod := range []string{"", "C-", "S-", "M-"} {
			name := fmt.Sprintf("%s%s:%d,%d", mod, action, row-1, col-1)
			chord, err := keys.Parse(name)
			if err != nil {
				continue
			}
			if sent, err := chord.Encode(k.modes); err == nil && bytes.HasPrefix(raw, sent) {
				return name, len(sent)
			}
		}
	}
	return "", 0
}
