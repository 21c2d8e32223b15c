package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What a terminal's program does, as far as it is known.
const (
	StateReady   = "ready"   // it waits for input
	StateRunning = "running" // it works, or waits for something else
	StateUnknown = "unknown" // the system does not tell
	StateExited  = "exited"
	StateLost    = "lost" // nobody knows how it ended
)

// A Report is what is new of one terminal.
type Report struct {
	Number  int    `json:"tty"`
	Label   string `json:"label,omitempty"`
	Command string `json:"command"`           // as it was opened
	Program string `json:"program,omitempty"` // in the foreground
	State   string `json:"state"`
	// Lines are those that were not shown before. Of a full-screen program Rows
	// are those of its screen that changed instead.
	Lines      Lines  `json:"lines,omitzero"`
	FullScreen bool   `json:"full_screen,omitempty"`
	Rows       []Row  `json:"rows,omitempty"`
	Screen     string `json:"screen,omitempty"` // the file that has the screen
	Cleared    bool   `json:"cleared,omitempty"`
	Exit       *Exit  `json:"exit,omitempty"`
	Archive    string `json:"archive,omitempty"` // where the files of a closed terminal are
	// Notes are what the agent should know besides, such as output that was
	// lost.
	Notes []string `json:"notes,omitempty"`
}

// Exit says how a program ended. Without a code that is not known.
type Exit struct {
	Code   *int   `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"`
}

func (e Exit) String() string {
	switch {
	case e.Signal != "":
		return "process was ended by " + e.Signal
	case e.Code != nil:
		return fmt.Sprintf("process exited (code %d)", *e.Code)
	}
	return "process is gone; how it ended is not known"
}

// IsNews reports whether there is something to tell.
func (r *Report) IsNews() bool {
	return r.Lines.Total > 0 || len(r.Rows) > 0 || r.Cleared || r.Exit != nil || len(r.Notes) > 0
}

// title is how a terminal is called in answers.
func (r *Report) title() string {
	name := cmp.Or(r.Program, r.Command)
	if r.Label != "" {
		name = r.Label + ": " + name
	}
	if r.State == StateReady || r.State == StateRunning {
		name += ", " + r.State
	}
	return fmt.Sprintf("[terminal %d: %s]", r.Number, name)
}

// Text is the report as the agent reads it.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.title())
	if !r.IsNews() {
		b.WriteString(" no change")
		return b.String()
	}
	if r.Cleared {
		b.WriteString("\nthe screen was cleared")
	}
	r.Lines.write(&b)
	if len(r.Rows) > 0 {
		r.writeRows(&b)
	}
	if r.Exit != nil {
		b.WriteString("\n" + r.Exit.String())
		if r.Archive != "" {
			b.WriteString("; archived in " + r.Archive)
		}
	}
	for _, note := range r.Notes {
		b.WriteString("\n(" + note + ")")
	}
	return b.String()
}

func (l Lines) write(b *strings.Builder) {
	if l.Total == 0 {
		return
	}
	fmt.Fprintf(b, "\n%d new %s:", l.Total, plural(l.Total, "line"))
	for i, line := range l.Shown {
		if i == l.Head && l.Omitted > 0 {
			l.writeOmission(b)
		}
		b.WriteString("\n" + line.margin() + shorten(line.Text))
	}
	if l.Omitted == 0 && l.Whole != "" {
		b.WriteString("\n  (long lines are cut; whole in " + l.Whole + ")")
	}
}

func (l Lines) writeOmission(b *strings.Builder) {
	fmt.Fprintf(b, "\n  … (%d %s omitted", l.Omitted, plural(l.Omitted, "line"))
	if l.Whole != "" {
		b.WriteString("; all in " + l.Whole)
	}
	if l.Dropped > 0 {
		fmt.Fprintf(b, ", %d of them in the recording alone", l.Dropped)
	}
	b.WriteString(") …")
}

// margin tells lines that were drawn over apart from new ones.
func (l Line) margin() string {
	switch {
	case l.Redrawn:
		return "~ "
	case l.Joined:
		return "… "
	}
	return "  "
}

// writeRows writes the rows of a full-screen program, elided as lines are.
func (r *Report) writeRows(b *strings.Builder) {
	n := len(r.Rows)
	fmt.Fprintf(b, "\nfull screen, %d %s changed:", n, plural(n, "row"))
	for i, row := range r.Rows {
		if n > inlineLines && i == endLines {
			fmt.Fprintf(b, "\n  … (%d rows omitted; the screen is in %s) …", n-2*endLines, r.Screen)
		}
		if n <= inlineLines || i < endLines || i >= n-endLines {
			fmt.Fprintf(b, "\n%4d| %s", row.Row, row.Text)
		}
	}
}

// Bounds of one line in an answer, in characters.
const (
	longLine = 1000
	longHead = 700
	longTail = 200
)

func isLong(l Line) bool { return len(l.Text) > longLine && utf8.RuneCountInString(l.Text) > longLine }

// shorten leaves out the middle of a long line.
func shorten(text string) string {
	if len(text) <= longLine {
		return text
	}
	runes := []rune(text)
	if len(runes) <= longLine {
		return text
	}
	return fmt.Sprintf("%s … (%d characters omitted) … %s", string(runes[:longHead]), len(runes)-longHead-longTail, string(runes[len(runes)-longTail:]))
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
