package session

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"den/internal/base/fault"
)

// Typable returns code as it can be typed: a terminal knows one kind of
// newline, and takes control characters for keys. Code that would reach the
// program as something else is refused before anything is sent.
func Typable(code string) (string, error) {
	code = strings.TrimPrefix(code, "\uFEFF") // a file's mark, not its first character
	code = strings.ReplaceAll(code, "\r\n", "\n")
	code = strings.ReplaceAll(code, "\r", "\n")
	if !utf8.ValidString(code) {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "the code is not UTF-8, from byte %d on", firstInvalid(code)),
			"put the bytes into a file that the program reads, or write them as escapes of its language")
	}
	if at := strings.IndexFunc(code, isKey); at >= 0 {
		key := fmt.Sprintf("C-%c", code[at]|0x60)
		switch code[at] {
		case 0x1b:
			key = "Esc"
		case 0x7f:
			key = "Backspace"
		}
		return "", fault.Hintf(fault.Errorf(fault.Usage, "the code has a control character, 0x%02x at byte %d, that the terminal takes for the key %s", code[at], at, key),
			"write it as an escape of the program's language, such as '\\x%02x'; 'den keys %s' presses the key", code[at], key)
	}
	return code, nil
}

// isKey reports whether a character is a key and not text.
func isKey(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }

func firstInvalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return len(s)
}
