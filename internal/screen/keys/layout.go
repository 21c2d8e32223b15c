package keys

import (
	"unicode"
	"unicode/utf8"
)

// The keys of a US keyboard whose Shift gives another character, in pairs.
const shiftPairs = "1!2@3#4$5%6^7&8*9(0)-_=+[{]}\\|;:'\",<.>/?`~"

// shifted is what Shift makes of a key's character; false when it makes nothing else.
func shifted(text string) (string, bool) {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 || size < len(text) {
		return text, false
	}
	for i := 0; i < len(shiftPairs); i += 2 {
		if r == rune(shiftPairs[i]) {
			return string(shiftPairs[i+1]), true
		}
	}
	if up := unicode.ToUpper(r); up != r && unicode.ToLower(up) == r {
		return string(up), true
	}
	return text, false
}

// unshifted is the key whose Shift gives text; false when text needs no Shift.
func unshifted(text string) (string, bool) {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 || size < len(text) {
		return text, false
	}
	for i := 0; i < len(shiftPairs); i += 2 {
		if r == rune(shiftPairs[i+1]) {
			return string(shiftPairs[i]), true
		}
	}
	if low := unicode.ToLower(r); low != r && unicode.ToUpper(low) == r {
		return string(low), true
	}
	return text, false
}

// oneCharacter reports whether people see s as one character: a rune with
// its marks, a joined emoji, a flag. It is a small part of Unicode's rules,
// enough to tell a character from a word.
func oneCharacter(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return false
	}
	rest := s[size:]
	if rest == "" {
		return !unicode.IsControl(first)
	}
	if unicode.IsControl(first) || first == ' ' {
		return false
	}
	prev, flags := first, 0
	if regional(first) {
		flags = 1
	}
	for _, r := range rest {
		switch {
		case r == 0x200d, unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Variation_Selector):
		case r >= 0x1f3fb && r <= 0x1f3ff, r >= 0xe0020 && r <= 0xe007f: // Skin tones; tags of flags.
		case prev == 0x200d && !unicode.IsSpace(r):
		case regional(r) && flags == 1:
			flags = 2
		case jamo(prev) && jamo(r):
		default:
			return false
		}
		prev = r
	}
	return true
}

func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func jamo(r rune) bool { return r >= 0x1100 && r <= 0x11ff }
