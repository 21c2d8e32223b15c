package host

import (
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
)

// notesPerTurn bounds the notes that one turn logs. A program that sends more
// in one chunk of output loses the later ones.
const notesPerTurn = 16

// notesLocked logs what the program did to its terminal that no screen shows.
// Of several bells or progress reports in one turn the last is enough.
func (c *core) notesLocked() {
	notes := c.term.TakeNotes()
	if len(notes) == 0 {
		return
	}
	var bell, progress, clipboard *eventlog.TerminalNote
	logged := 0
	for i := range notes {
		n := terminalNote(c.term, &notes[i])
		switch notes[i].Kind {
		case vt.NoteBell:
			bell = &n
		case vt.NoteProgress:
			progress = &n
		case vt.NoteClipboard:
			clipboard = &n
		case vt.NoteNotification:
			if logged++; logged <= notesPerTurn {
				c.log.Append(eventlog.Note, n.Encode())
			}
		}
	}
	if progress != nil && *progress.Progress == c.progress {
		progress = nil // nothing new
	}
	for _, n := range []*eventlog.TerminalNote{bell, progress, clipboard} {
		if n == nil {
			continue
		}
		if n.Progress != nil {
			c.progress = *n.Progress
		}
		c.log.Append(eventlog.Note, n.Encode())
		logged++
	}
	if logged > 0 {
		c.flushLocked()
	}
}

// terminalNote is a note as the log holds it.
func terminalNote(term *vt.Terminal, n *vt.Note) eventlog.TerminalNote {
	switch n.Kind {
	case vt.NoteBell:
		return eventlog.TerminalNote{Kind: eventlog.TerminalBell}
	case vt.NoteClipboard:
		data, _ := term.Clipboard()
		return eventlog.TerminalNote{Kind: eventlog.TerminalClipboard, Text: n.Text, Bytes: len(data)}
	case vt.NoteProgress:
		return eventlog.TerminalNote{Kind: eventlog.TerminalProgress, Progress: &eventlog.TerminalWork{State: n.Progress.State.String(), Percent: n.Progress.Percent}}
	}
	return eventlog.TerminalNote{Kind: eventlog.TerminalNotification, Title: n.Title, Text: n.Text}
}
