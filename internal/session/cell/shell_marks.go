package cell

import (
	"strconv"
	"strings"

	"den/internal/screen/vt"
)

// ShellMarks tracks the marks (OSC 133) of a shell that den started. Marks
// without the session's token were printed by other programs and are ignored.
// It survives an upgrade.
type ShellMarks struct {
	Token   string  `json:"token"`
	Silent  bool    `json:"silent,omitempty"` // it does not tell where output begins (sh)
	Plain   bool    `json:"plain,omitempty"`  // the session's own shell has no line editor
	Last    byte    `json:"last"`             // kind of the last mark, 0 before the first
	Ends    int     `json:"ends"`             // commands that ended
	Start   vt.Mark `json:"start"`            // where the last command's output began (C)
	End     vt.Mark `json:"end"`              // where it ended (D)
	Exit    int     `json:"exit"`
	Began   bool    `json:"began"`             // there was a C since the last D
	Prompt  int64   `json:"prompt"`            // the line of the last prompt (A)
	Shown   string  `json:"shown,omitempty"`   // what stood left of the cursor when it was there (B)
	Input   vt.Mark `json:"input,omitzero"`    // where input begins (B)
	Emptied int     `json:"emptied,omitempty"` // how often it reported that its input is empty (K)
	Inner   bool    `json:"inner,omitempty"`   // the last mark came from a shell inside the session's program
	Other   bool    `json:"other,omitempty"`   // Silent of the other of the two shells
	Refused bool    `json:"refused,omitempty"` // the last command ended without having begun

	// Asks says that the editor of a silent shell asks the terminal where the cursor
	// is, behind each prompt (busybox).
	Asks bool `json:"asks,omitempty"`

	Inquiry Inquiry `json:"inquiry,omitzero"` // about a shell inside the session's program
}

// whose tells which of the session's shells printed a mark: its own, or one inside
// its program, by the suffix of the token.
func (m *ShellMarks) whose(mark vt.Mark) (status int, suffix string, own bool) {
	for _, suffix = range []string{"", innerToken, innerSilent, innerOlder} {
		if status, own = OwnMark(mark, m.Token+suffix); own {
			break
		}
	}
	return status, suffix, own
}

// NoEditor reports whether the shell that is spoken to has no line editor: the
// kernel edits its lines.
func (m *ShellMarks) NoEditor() bool {
	if m.Inner {
		return m.Inquiry.Plain
	}
	return m.Plain
}

// inputPending is the value of Last after input at a prompt: the shell's next
// state is unknown until its next mark.
const inputPending = 'I'

// Take records one mark and reports whether it was the shell's.
func (m *ShellMarks) Take(mark vt.Mark) bool {
	if mark.Kind == 'Q' {
		m.Inquiry.take(mark)
		return false
	}
	if m.Token == "" {
		return false
	}
	status, suffix, own := m.whose(mark)
	inner := suffix != ""
	if !own || inner && m.Inquiry.Deaf && mark.Kind != 'B' {
		return false
	}
	if inner != m.Inner {
		m.Inner, m.Silent, m.Other, m.Asks = inner, m.Other, m.Silent, false
	}
	switch suffix {
	case innerToken:
		m.Silent, m.Inquiry.Deaf = false, false
	case innerSilent:
		m.Silent, m.Inquiry.Deaf = true, false
	}
	switch {
	case mark.Kind == 'H':
		m.Silent = strings.HasPrefix(mark.Args, "sh;")
		return true
	case mark.Kind == 'Z':
		return true // the host keeps what stands in the input
	case mark.Kind == 'D' && m.redraws(mark):
		return false
	}
	m.Last = mark.Kind
	switch mark.Kind {
	case 'A':
		m.Prompt = mark.Line
	case 'B':
		m.Input = mark
	case 'K':
		m.Last = 'B'
		m.Emptied++
	case 'C':
		if !m.Began { // of several commands on one line the first counts
			m.Start, m.Began = mark, true
		}
	case 'D':
		m.Refused = !m.Began
		m.Ends++
		m.End = mark
		if !m.Began {
			m.Start = mark
		}
		m.Began = false
		m.Exit = status
		m.Inquiry.Code = ""
	}
	return true
}

// redraws reports whether a D mark belongs to a prompt that the shell's editor
// draws again. bash has D in the prompt itself if it ran no PROMPT_COMMAND, as
// after a failed history expansion. An entered command has left the prompt's
// line, unless it cleared the screen; that one has begun, which a silent shell
// does not report.
func (m *ShellMarks) redraws(mark vt.Mark) bool {
	atPrompt := m.Last == 'B' || m.Last == 'P' || m.Last == inputPending
	return !m.Silent && atPrompt && !m.Began && mark.Line <= m.Prompt
}

// Elsewhere reports whether the shell that is spoken to is one that the kernel does
// not show: what it shows is what carries that shell (ssh).
func (m *ShellMarks) Elsewhere() bool { return m.Inner && !m.Inquiry.Local }

// runs reports whether a command of the shell runs, as far as it tells.
func (m *ShellMarks) runs() bool { return m.Last == 'C' || m.Silent && m.Last == inputPending }

// Typed records input to the shell.
func (m *ShellMarks) Typed() {
	if m.Last == 'B' || m.Last == 'P' {
		m.Last = inputPending
	}
}

// AtPrompt reports whether the shell shows its prompt and waits for a command.
func (m *ShellMarks) AtPrompt() bool { return m.Last == 'B' }

// Pending reports whether there was input at the prompt, and no mark since.
func (m *ShellMarks) Pending() bool { return m.Last == inputPending }

// Leftover reports whether there is text after the shell's prompt that was not
// entered: typed by somebody, a reply of the terminal that no program read, or
// code that fish keeps in its editor because of a syntax error.
func (m *ShellMarks) Leftover(left string) bool {
	return (m.Last == 'B' || m.Last == inputPending) && m.Shown != "" && left != m.Shown && strings.HasPrefix(left, m.Shown)
}

// OwnMark reports whether a mark came from the shell that was prepared with
// this token, and not from a program that prints marks itself. A status is the
// exit status in a D mark, else 0.
//
// What a prepared shell gives, in this order:
//
//	A  the prompt starts; in fish once, elsewhere again when it is drawn anew
//	B  the prompt ended and input starts; again when the prompt is drawn anew
//	P  the shell asks for the rest of an unfinished command (not in fish)
//	C  a command starts, its output is next (not in sh)
//	H  a shell inside the session's program prints marks from now on; with its kind (an older den's)
//	Q  a shell takes code that makes it print marks; with its kind (see AskShell)
//	K  the input was emptied by den's own key, and the prompt stands (fish)
//	Z  the next prompt comes with text in its input, which nobody typed (zsh)
//	D  back from the input: the command ended with the status
//
// Between two prompts there is at least one D. One without a C before it says
// that nothing ran: an error of syntax, an interrupt, an empty line; the status
// is what the shell's $? says. Lines pasted together give several C, in zsh
// each with its D, before the next A. The first prompt has no D before it. A
// prompt that a hook of the user's changed after ours may lack A and B once.
func OwnMark(m vt.Mark, token string) (status int, own bool) {
	args, own := strings.CutSuffix(m.Args, "den="+token)
	if !own {
		return 0, false
	}
	if m.Kind != 'D' {
		return 0, args == "" || strings.HasSuffix(args, ";")
	}
	status, err := strconv.Atoi(strings.TrimSuffix(args, ";"))
	return status, err == nil && strings.HasSuffix(args, ";")
}
