package terminal

import (
	"bufio"
	"bytes"
	"den/internal/screen/vt"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// How much of what is new is shown.
const (
	inlineLines = 20 // up to so many lines all are shown
	endLines    = 10 // of more, so many at each end
)

// Bounds of what waits to be shown. Up to spillAt it is kept in memory, up to
// maxWhole in a file. Of more, the first and the last lines are known and the
// rest is in the session's recording alone.
const (
	spillAt  = 256 << 10
	maxWhole = 64 << 20
)

// spool collects the lines that the agent has not seen.
type spool struct {
	// create makes the file for lines that do not fit; or nil: they are kept in
	// memory. path is what the agent is told.
	create func() (f *os.File, path string, err error)

	last    Line // the newest line; it may still be replaced
	pending bool // there is one
	tail    bool // it is the terminal's last line
	head    []Line
	ring    [endLines]Line // the last lines; the one before them is overwritten next
	total   int            // lines, without the newest

	mem     []byte // the lines' text
	file    *os.File
	out     *bufio.Writer
	path    string
	size    int
	dropped int // lines that are in no file
	err     error

	until    *regexp.Regexp // or nil: what the agent waits for
	found    string         // the line that had it
	matched  bool
	typed    []string // lines that were typed: their echo is no match
	echo     []string // those of them whose echo did not come yet
	lastEcho []string // that was found in the newest line
}

// add adds a line. One that stands for the line that was added last replaces it.
func (s *spool) add(l Line) {
	s.match(l)
	if l.Again && s.pending && s.tail {
		s.last.Text = l.Text
		return
	}
	s.settle()
	s.last, s.pending, s.tail = l, true, !l.Redrawn
}

// settle moves the newest line to the others.
func (s *spool) settle() {
	if !s.pending {
		return
	}
	s.pending = false
	s.write(s.last.Text)
	if len(s.head) < inlineLines {
		s.head = append(s.head, s.last)
	}
	s.ring[s.total%endLines] = s.last
	s.total++
}

// end returns the last lines, of which there are at least endLines.
func (s *spool) end() []Line {
	at := s.total % endLines
	return slices.Concat(s.ring[at:], s.ring[:at])
}

// write keeps a line's text for the file of the whole.
func (s *spool) write(text string) {
	s.size += len(text) + 1
	switch {
	case s.err != nil || s.size > maxWhole:
		s.dropped++
		return
	case s.file == nil && (s.size <= spillAt || s.create == nil):
		s.mem = append(append(s.mem, text...), '\n')
		return
	case s.file == nil:
		if s.spill(); s.err != nil {
			s.dropped++
			return
		}
	}
	s.out.WriteString(text) // bufio keeps the first error for Flush
	s.err = s.out.WriteByte('\n')
}

// spill moves what is in memory to a file.
func (s *spool) spill() {
	f, path, err := s.create()
	if err != nil {
		s.err = err
		return
	}
	s.file, s.path, s.out = f, path, bufio.NewWriterSize(f, 64<<10)
	s.out.Write(s.mem) // as above
	s.mem = nil
}

// Lines are the new lines of a terminal: all of them, or the first and the last.
type Lines struct {
	Shown []Line `json:"shown,omitempty"`
	Total int    `json:"total"`
	// Omitted lines are missing behind the first Head lines of Shown.
	Omitted int `json:"omitted,omitempty"`
	Head    int `json:"head,omitempty"`
	// Whole is the file that has them all; Dropped lines could not be kept, and
	// are in the session's recording alone.
	Whole   string `json:"whole,omitempty"`
	Dropped int    `json:"dropped,omitempty"`
}

// drain returns what was collected, and begins anew. With whole, all lines are
// shown that are still in memory.
func (s *spool) drain(whole bool) (Lines, error) {
	s.settle()
	next := spool{create: s.create}
	lines := Lines{Total: s.total, Dropped: s.dropped}
	lines.Shown, lines.Head = s.head, len(s.head)
	var err error
	switch {
	case whole && s.mem != nil && s.file == nil && s.err == nil:
		lines.Shown = s.all()
		lines.Head = len(lines.Shown)
	case s.total > inlineLines:
		lines.Shown = slices.Concat(s.head[:endLines], s.end())
		lines.Head, lines.Omitted = endLines, s.total-2*endLines
		lines.Whole, err = s.keep()
	case slices.ContainsFunc(lines.Shown, isLong):
		lines.Whole, err = s.keep()
	}
	err = errors.Join(err, s.close())
	*s = next
	return lines, err
}

// all returns every line, from memory. What lines are beside their text is
// known of the first alone; only they can stand for lines that were shown.
func (s *spool) all() []Line {
	lines := slices.Clone(s.head)
	rest := strings.Split(strings.TrimSuffix(string(s.mem), "\n"), "\n")
	for _, text := range rest[min(len(lines), len(rest)):] {
		lines = append(lines, Line{Text: text})
	}
	return lines
}

// keep writes what was collected to a file, and returns its path.
func (s *spool) keep() (string, error) {
	if s.create == nil {
		return "", nil
	}
	if s.file == nil && s.err == nil {
		s.spill()
	}
	if s.err == nil {
		s.err = s.out.Flush()
	}
	return s.path, s.err
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.out.Flush(), s.file.Close())
}

// expect sets what the agent waits for; nil is nothing. What was collected
// already counts.
func (s *spool) expect(until *regexp.Regexp) error {
	s.until, s.found, s.matched = until, "", false
	s.echo, s.lastEcho = s.typed, nil
	if until == nil {
		return nil
	}
	err := s.each(func(text string) bool {
		s.match(Line{Text: text})
		return !s.matched
	})
	if s.pending && !s.matched {
		s.match(s.last)
	}
	return err
}

// each calls f with the text of every line but the newest, until it returns
// false.
func (s *spool) each(f func(text string) bool) error {
	var all io.Reader = bytes.NewReader(s.mem)
	if s.file != nil {
		if err := s.out.Flush(); err != nil {
			return err
		}
		all = io.NewSectionReader(s.file, 0, maxWhole)
	}
	r := bufio.NewReaderSize(all, 64<<10)
	for {
		text, err := r.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !f(strings.TrimSuffix(text, "\n")) {
			return nil
		}
	}
}

// match checks a line for what the agent waits for. The echo of what was typed
// does not count, once for each line that was typed.
func (s *spool) match(l Line) {
	if s.until == nil || s.matched {
		return
	}
	if l.Again { // its echo is found again
		s.echo = slices.Concat(s.lastEcho, s.echo)
	}
	var text string
	text, s.lastEcho, s.echo = withoutEcho(l.Text, s.echo)
	if s.until.MatchString(text) {
		s.found, s.matched = l.Text, true
	}
}

// peek returns whether one of the lines, which are not collected yet, has what
// the agent waits for.
func (s *spool) peek(lines []Line) (found string, ok bool) {
	probe := spool{until: s.until, echo: s.echo, lastEcho: s.lastEcho}
	for _, l := range lines {
		probe.match(l)
	}
	return probe.found, probe.matched
}

// withoutEcho returns a line without the typed line that it ends with, that
// typed line, and those whose echo did not come yet.
func withoutEcho(text string, typed []string) (without string, echo, rest []string) {
	trimmed := strings.TrimRight(text, " ")
	for i, line := range typed {
		if before, ok := strings.CutSuffix(trimmed, strings.TrimRight(line, " ")); ok && line != "" {
			return before, typed[i : i+1], slices.Concat(typed[:i], typed[i+1:])
		}
	}
	return text, nil, typed
}

// A Line is a line of a terminal as it is shown to the agent. A line that
// needed several rows is one again.
type Line struct {
	Text string `json:"text"`
	// Again says that this is the line that was shown last before, as it stands
	// now: a prompt with the command behind it, or a progress bar.
	Again bool `json:"again,omitempty"`
	// Redrawn says that the program went back and wrote to a line that was
	// shown before, other than the last.
	Redrawn bool `json:"redrawn,omitempty"`
	// Joined says that the text continues the line before it: a very long line
	// comes in parts.
	Joined bool `json:"joined,omitempty"`
}

func isBlank(row vt.Row) bool { return row.TextLen() == 0 }
