package vt

import "bytes"

const apcMark = "den;"

// apcReadable reports whether an APC that begins like this may be den's own.
// Kitty graphics are noted as they begin.
func (t *Terminal) apcReadable(text []byte) bool {
	if len(text) > 0 && text[0] == 'G' {
		t.note(NoteImage, "kitty")
	}
	n := min(len(text), len(apcMark))
	return bytes.Equal(text[:n], []byte(apcMark)[:n])
}

func (t *Terminal) dispatchAPC(text []byte) {
}
