package cell

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// CutBytes returns the two ends of a text of more than max bytes, with a note
// of what was left out. The ends are whole lines, unless a line is longer than
// half of an end.
func CutBytes(text string, max int) (string, bool) {
	if max <= 0 || len(text) <= max {
		return text, false
	}
	return joinEnds(text[:(max+1)/2], text[len(text)-max/2:], len(text)), true
}

// CutBytesFile is CutBytes for an output that is kept in a file.
func CutBytesFile(f *os.File, max int) (text string, cut bool, err error) {
	info, err := f.Stat()
	if err != nil || max <= 0 || info.Size() <= int64(max) {
		return "", false, err
	}
	head, tail := make([]byte, (max+1)/2), make([]byte, max/2)
	if _, err := io.ReadFull(f, head); err != nil {
		return "", false, err
	}
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return "", false, err
	}
	text = joinEnds(string(head), strings.TrimSuffix(string(tail), "\n"), int(info.Size()))
	return text, true, nil
}

// joinEnds shortens both ends of a text of total bytes to whole lines or
// characters, and puts the note between them.
func joinEnds(head, tail string, total int) string {
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i]
	} else {
		head = withoutHalfRune(head)
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	} else {
		for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
	}
	note := fmt.Sprintf("%s\n[... %d bytes left out ...]", head, total-len(head)-len(tail))
	if tail == "" {
		return note
	}
	return note + "\n" + tail
}

// withoutHalfRune drops the beginning of a character at the end of a text.
func withoutHalfRune(text string) string {
	for cut := 1; cut < utf8.UTFMax && cut <= len(text); cut++ {
		if at := len(text) - cut; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				return text[:at]
			}
			return text
		}
	}
	return text
}
