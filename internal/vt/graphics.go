package vt

import (
	"bytes"
	"strconv"
)

// maxGraphicsControl bounds the part of a kitty graphics command before its
// data. The data is never read.
const maxGraphicsControl = 256

// graphicsControl returns the control part of an APC that begins like this, and
// whether there is no more of it to wait for.
func graphicsControl(text []byte) (control []byte, whole bool) {
	control, _, whole = bytes.Cut(text[1:], []byte{';'})
	return control, whole || len(control) > maxGraphicsControl
}

// graphicsCommand handles the control part of a kitty graphics command. Images
// are not drawn: a query says so, anything else is noted.
func (t *Terminal) graphicsCommand(control []byte) {
	if len(control) > maxGraphicsControl {
		t.note(Note{Kind: NoteImage, Text: "kitty"})
		return
	}
	keys := map[string]string{}
	for pair := range bytes.SplitSeq(control, []byte{','}) {
		if k, v, ok := bytes.Cut(pair, []byte{'='}); ok {
			keys[string(k)] = string(v)
		}
	}
	switch keys["a"] {
	case "q":
		// Quiet level 2 wants no errors. An image without an id gets no answer.
		if id, err := strconv.ParseUint(keys["i"], 10, 32); err == nil && id > 0 && keys["q"] != "2" {
			t.replyf("\x1b_Gi=%d;ENOTSUP:images are not drawn\x1b\\", id)
		}
	case "d":
	default:
		t.note(Note{Kind: NoteImage, Text: "kitty"})
	}
}
