package vt

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

// ProgressState is what a program says of its progress (OSC 9;4).
type ProgressState uint8

const (
	ProgressNone    ProgressState = 0 // there is no progress to show any more
	ProgressNormal  ProgressState = 1
	ProgressError   ProgressState = 2
	ProgressUnknown ProgressState = 3 // at work, but nobody knows how far
	ProgressPaused  ProgressState = 4
)

func (s ProgressState) String() string {
	return [...]string{"none", "normal", "error", "unknown", "paused"}[s]
}

// Progress is how far a program says it is.
type Progress struct {
	State   ProgressState
	Percent int // 0 to 100
}

// conEmuCommand is OSC 9: a progress report, or a message to show. Other
// commands that begin with a number are ConEmu's own.
func (t *Terminal) conEmuCommand(rest []byte) {
	first, args, more := bytes.Cut(rest, []byte{';'})
	if n, err := strconv.Atoi(string(first)); more && err == nil && n > 0 && n <= 12 {
		if n == 4 {
			t.progressReport(args)
		}
		return
	}
	t.notification("", rest)
}

// progressReport is OSC 9;4: a state and a percentage.
func (t *Terminal) progressReport(args []byte) {
	first, second, _ := bytes.Cut(args, []byte{';'})
	state, err := strconv.ParseUint(string(first), 10, 8)
	if err != nil || state > uint64(ProgressPaused) {
		return
	}
	percent, err := strconv.ParseUint(string(second), 10, 16)
	if err != nil && len(second) > 0 {
		return
	}
	t.note(Note{Kind: NoteProgress, Progress: Progress{ProgressState(state), int(min(percent, 100))}})
}

// kittyNotification is OSC 99: metadata, semicolon, payload. Each title and each
// body is a note of its own; icons, buttons, queries and closing are not known.
func (t *Terminal) kittyNotification(rest []byte) {
	meta, payload, ok := bytes.Cut(rest, []byte{';'})
	if !ok {
		return
	}
	part := "title"
	for pair := range bytes.SplitSeq(meta, []byte{':'}) {
		switch k, v, _ := bytes.Cut(pair, []byte{'='}); string(k) {
		case "p":
			part = string(v)
		case "e":
			if string(v) != "1" {
				continue
			}
			decoded, err := base64.StdEncoding.DecodeString(string(payload))
			if err != nil {
				return
			}
			payload = decoded
		}
	}
	switch part {
	case "title":
		t.notification(string(payload), nil)
	case "body":
		t.notification("", payload)
	}
}

// rxvtNotification is OSC 777;notify;TITLE;BODY. Other commands of 777 are not known.
func (t *Terminal) rxvtNotification(rest []byte) {
	args, ok := bytes.CutPrefix(rest, []byte("notify;"))
	if !ok {
		return
	}
	title, body, _ := bytes.Cut(args, []byte{';'})
	t.notification(string(title), body)
}

// notification notes a message, unless it is empty.
func (t *Terminal) notification(title string, text []byte) {
	n := Note{Kind: NoteNotification, Title: cleanText([]byte(title), maxNoteText), Text: cleanText(text, maxNoteText)}
	if n.Title != "" || n.Text != "" {
		t.note(n)
	}
}
