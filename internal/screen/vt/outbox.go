package vt

// Bounds of what waits to be taken. New replies are dropped beyond theirs;
// of marks and notes the oldest go.
const (
	maxReplies  = 64 << 10
	maxMarks    = 1024
	maxNotes    = 256
	maxNoteText = 4 << 10
)

// Mark is a shell integration mark (OSC 133).
type Mark struct {
	Kind byte   // 'A' prompt, 'B' input, 'C' output, 'D' end of the command, ...
	Args string // what followed the kind, without the leading semicolon
	Line int64  // absolute row number: see [Terminal.FirstLine]
	Col  int
	// Replied counts the bytes of replies that had not been taken when the mark
	// came: they answer what was asked before it.
	Replied int `json:",omitempty"`
}

// NoteKind tells what a [Note] is about.
type NoteKind uint8

const (
	NoteBell         NoteKind = 1
	NoteNotification NoteKind = 2 // OSC 9, 99 or 777; Title or Text may be empty
	NoteClipboard    NoteKind = 3 // Text is the selection; see [Terminal.Clipboard]
	NoteImage        NoteKind = 4 // Text is "sixel" or "kitty"
	NoteProgress     NoteKind = 5 // OSC 9;4
)

// Note is something a program did that shows on no screen.
type Note struct {
	Kind     NoteKind
	Title    string
	Text     string
	Progress Progress // of a NoteProgress
}

// outbox holds what the terminal reports to its owner.
type outbox struct {
	replies []byte
	marks   []Mark
	notes   []Note
	frames  uint64 // synchronised updates that have begun
}

// Frames counts the synchronised updates (mode 2026) that have begun.
func (t *Terminal) Frames() uint64 { return t.outbox.frames }

// TakeReplies returns what the program must be sent, and forgets it; nil when
// there is nothing.
func (t *Terminal) TakeReplies() []byte {
	r := t.outbox.replies
	t.outbox.replies = nil
	return r
}

// TakeMarks returns the shell integration marks since the last call.
func (t *Terminal) TakeMarks() []Mark {
	m := t.outbox.marks
	t.outbox.marks = nil
	return m
}

// TakeNotes returns the notes since the last call.
func (t *Terminal) TakeNotes() []Note {
	n := t.outbox.notes
	t.outbox.notes = nil
	return n
}

// reply sends s to the program. Nobody asked who is reading a dump.
func (t *Terminal) reply(s string) {
	if t.restore.open {
		return
	}
	if len(t.outbox.replies)+len(s) <= maxReplies {
		t.outbox.replies = append(t.outbox.replies, s...)
	}
}

func (t *Terminal) note(note Note) {
	if n := len(t.outbox.notes); n >= maxNotes {
		copy(t.outbox.notes, t.outbox.notes[1:])
		t.outbox.notes = t.outbox.notes[:n-1]
	}
	t.outbox.notes = append(t.outbox.notes, note)
}

func (t *Terminal) mark(m Mark) {
	if n := len(t.outbox.marks); n >= maxMarks {
		copy(t.outbox.marks, t.outbox.marks[1:])
		t.outbox.marks = t.outbox.marks[:n-1]
	}
	t.outbox.marks = append(t.outbox.marks, m)
}
