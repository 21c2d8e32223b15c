package vt

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

// dispatchOSC executes an operating system command.
func (t *Terminal) dispatchOSC(text []byte, terminator string) {
	num, rest, _ := bytes.Cut(text, []byte{';'})
	n, err := strconv.Atoi(string(num))
	if err != nil {
		return
	}
	switch n {
	case 0:
		t.names.title = cleanText(rest, maxTitle)
		t.names.icon = t.names.title
	case 1:
		t.names.icon = cleanText(rest, maxTitle)
	case 2:
		t.names.title = cleanText(rest, maxTitle)
	case 4:
		t.paletteCommand(rest, terminator)
	case 5:
		t.specialColors(rest, terminator)
	case 7:
		t.names.dir = cleanText(rest, maxTitle)
	case 8:
		t.hyperlink(rest)
	case 9:
		t.conEmuCommand(rest)
	case 10, 11, 12, 110, 111, 112:
		before := t.colorScheme()
		t.dynamicColors(n, rest, terminator)
		if t.modes.has(modeReportScheme) && t.colorScheme() != before {
			t.reportColorScheme()
		}
	case 52:
		t.clipboardCommand(rest, terminator)
	case 99:
		t.kittyNotification(rest)
	case 104:
		resetColors(&t.colors.palette, rest)
	case 105:
		resetColors(&t.colors.special, rest)
	case 133:
		t.shellMark(rest)
	case 777:
		t.rxvtNotification(rest)
	}
}

// hyperlink is OSC 8: parameters, semicolon, URI. An empty URI ends the link.
func (t *Terminal) hyperlink(rest []byte) {
	args, uri, ok := bytes.Cut(rest, []byte{';'})
	if !ok {
		return
	}
	l := link{uri: cleanText(uri, maxLinkBytes+1)}
	for arg := range bytes.SplitSeq(args, []byte{':'}) {
		if id, ok := bytes.CutPrefix(arg, []byte("id=")); ok {
			l.id = cleanText(id, 256)
		}
	}
	t.cur.pen.style.link = 0 // before the table is swept for room
	t.cur.pen.style.link = t.linkID(l)
	t.cur.pen.match = penStale
}

// clipboardCommand is OSC 52. What is written is kept; a query is answered
// with nothing, as no program may read the user's clipboard.
func (t *Terminal) clipboardCommand(rest []byte, terminator string) {
	which, data, ok := bytes.Cut(rest, []byte{';'})
	if !ok {
		return
	}
	selection, ok := clipboardSelection(which)
	if !ok {
		return
	}
	if string(data) == "?" {
		t.replyf("\x1b]52;%c;%s", selection, terminator)
		return
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(decoded, data)
	if err != nil || n > maxClipboard {
		return
	}
	t.names.clipboard = decoded[:n:n]
	t.note(Note{Kind: NoteClipboard, Text: string(selection)})
}

// clipboardSelection returns the first of the selections that OSC 52 names, or
// the clipboard where it names none. A name that xterm does not know is refused:
// the reply repeats the name, and must not repeat a program's own text.
func clipboardSelection(which []byte) (selection byte, ok bool) {
	for _, b := range which {
		if !bytes.ContainsRune([]byte("cpqs01234567"), rune(b)) {
			return 0, false
		}
	}
	if len(which) == 0 {
		return 'c', true
	}
	return which[0], true
}

// shellMark is OSC 133.
func (t *Terminal) shellMark(rest []byte) {
	if len(rest) == 0 || len(rest) > 1 && rest[1] != ';' {
		return
	}
	m := Mark{Kind: rest[0], Line: t.ScreenLine() + int64(t.cur.y), Col: t.cur.x, Replied: len(t.outbox.replies)}
	if m.Kind < 'A' || m.Kind > 'Z' {
		return
	}
	if len(rest) > 2 {
		m.Args = cleanText(rest[2:], maxNoteText)
	}
	if m.Kind <= 'D' {
		t.row(t.cur.y).prompt |= PromptStart << (m.Kind - 'A')
	}
	t.mark(m)
}
