package shim

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// LastLines returns the last n lines of output, all of them when n is 0,
// without blank ones at the end. cut says that the beginning is missing: then
// the first line is a part of one and is left out, unless it is all there is.
func LastLines(output []byte, cut bool, n int) string {
	if cut {
		output = wholeLines(output)
	}
	text := strings.ToValidUTF8(string(output), "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(text, "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// wholeLines drops a first line that has lost its beginning. Where there is
// only that line, it drops what is left of a character.
func wholeLines(output []byte) []byte {
	if i := bytes.IndexByte(output, '\n'); i >= 0 && i+1 < len(output) {
		return output[i+1:]
	}
	for i := range min(utf8.UTFMax, len(output)) {
		if utf8.RuneStart(output[i]) {
			return output[i:]
		}
	}
	return output
}

// lastBytes returns the last n lines, and the one that is not complete, as
// they are.
func lastBytes(output []byte, n int) []byte {
	at := len(output)
	for range n + 1 {
		i := bytes.LastIndexByte(output[:at], '\n')
		if i < 0 {
			return output
		}
		at = i
	}
	return output[at+1:]
}
