package cell

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Bounds of a cell's output. Up to maxMemory it is kept in memory, up to
// maxFile in a file; of more, the middle is dropped and the result says so. Up
// to maxAnswer is returned to the caller whole.
const (
	maxMemory = 256 << 10
	maxFile   = 256 << 20
	maxAnswer = 8 << 20
	endLines  = 200 // of an output that is too long, at each end
)

// Sink collects lines.
type Sink struct {
	path  string
	state SinkState
	file  *os.File // or nil while all is in memory
	out   *bufio.Writer
	err   error
}

// SinkState is the state of a Sink that survives an upgrade.
type SinkState struct {
	Mem  []byte   `json:"mem,omitempty"`
	Size int64    `json:"size"`
	File bool     `json:"file,omitempty"` // it goes to the file
	Lost bool     `json:"lost,omitempty"`
	Tail [][]byte `json:"tail,omitempty"` // the newest lines once the file is full
}

// NewSink returns a Sink that collects in memory, and in the file at path
// beyond maxMemory.
func NewSink(path string) *Sink { return &Sink{path: path} }

// Line adds one line.
func (s *Sink) Line(line []byte) {
	s.state.Size += int64(len(line)) + 1
	switch {
	case s.err != nil || s.state.Size > maxFile:
		s.state.Lost = true
		if s.state.Tail = append(s.state.Tail, bytes.Clone(line)); len(s.state.Tail) > endLines {
			s.state.Tail = s.state.Tail[1:]
		}
		return
	case s.file == nil && s.state.Size <= maxMemory:
		s.state.Mem = append(append(s.state.Mem, line...), '\n')
		return
	case s.file == nil:
		if s.err = s.spill(); s.err != nil {
			s.state.Lost = true
			return
		}
	}
	s.out.Write(line) // bufio keeps the first error for Flush
	s.err = s.out.WriteByte('\n')
}

// spill moves the collected output from memory to the file.
func (s *Sink) spill() error {
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("keep a cell's output: %w", err)
	}
	if _, err := f.Write(s.state.Mem); err != nil {
		f.Close() // Best effort, as is the next: what is in memory stays there.
		os.Remove(s.path)
		return fmt.Errorf("keep a cell's output: %w", err)
	}
	s.file, s.out, s.state.File = f, bufio.NewWriterSize(f, 64<<10), true
	s.state.Mem = nil
	return nil
}

// Close ends the collection and sets the output fields of r. With an error the
// whole output could not be kept, and they hold what is left of it.
func (s *Sink) Close(r *Result) error {
	if s.file == nil {
		r.Output = string(bytes.TrimSuffix(s.state.Mem, []byte("\n")))
		if r.Truncated = s.state.Lost; r.Truncated {
			r.Output, r.OutputBytes = s.ends([]byte(r.Output), nil), s.state.Size
		}
		return s.err
	}
	err := s.out.Flush()
	if cerr := s.file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		s.state.Lost = true
	}
	text, truncated, rerr := s.read()
	if r.Output, r.Truncated = text, truncated; truncated {
		r.OutputBytes = s.state.Size
	}
	if err != nil || rerr != nil {
		os.Remove(s.path) // Best effort: it is incomplete, and the disk may be full.
		return errors.Join(err, rerr)
	}
	r.OutputFile = s.path
	return nil
}

// read returns the output for a result: whole, or its two ends.
func (s *Sink) read() (text string, truncated bool, err error) {
	if s.state.Size <= maxAnswer && !s.state.Lost {
		raw, err := os.ReadFile(s.path)
		return string(bytes.TrimSuffix(raw, []byte("\n"))), false, err
	}
	raw, err := readEnds(s.path, maxAnswer/4)
	if err != nil {
		return "", true, err
	}
	return s.ends(raw[0], raw[1]), true, nil
}

// ends returns the two ends of an output that is too long, or could not be kept.
func (s *Sink) ends(begin, end []byte) string {
	tail := lastLines(end, endLines)
	if len(s.state.Tail) > 0 {
		tail = bytes.Join(s.state.Tail, []byte("\n"))
	}
	return fmt.Sprintf("%s\n[... %d bytes in all; the middle is left out ...]\n%s", firstLines(begin, endLines), s.state.Size, tail)
}

func readEnds(path string, n int64) (ends [2][]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return ends, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return ends, err
	}
	n = min(n, fi.Size())
	for i, at := range []int64{0, fi.Size() - n} {
		ends[i] = make([]byte, n)
		if _, err := f.ReadAt(ends[i], at); err != nil {
			return ends, err
		}
	}
	return ends, nil
}

func firstLines(p []byte, n int) []byte {
	at := 0
	for range n {
		i := bytes.IndexByte(p[at:], '\n')
		if i < 0 {
			return p
		}
		at += i + 1
	}
	return p[:at-1]
}

func lastLines(p []byte, n int) []byte {
	p = bytes.TrimSuffix(p, []byte("\n"))
	at := len(p)
	for range n {
		i := bytes.LastIndexByte(p[:at], '\n')
		if i < 0 {
			return p
		}
		at = i
	}
	return p[at+1:]
}

// Cut returns the two ends of a text of more than max lines, with a note of
// what was left out.
func Cut(text string, max int) (string, bool) {
	total := bytes.Count([]byte(text), []byte("\n")) + 1
	if max <= 0 || total <= max {
		return text, false
	}
	head := firstLines([]byte(text), (max+1)/2)
	left := total - (max+1)/2 - max/2
	short := fmt.Sprintf("%s\n[... %d lines left out ...]", head, left)
	if max/2 == 0 { // of one line there is no end
		return short, true
	}
	return short + "\n" + string(lastLines([]byte(text), max/2)), true
}

// CutFile is Cut for an output that is kept in a file.
func CutFile(f *os.File, max int) (text string, cut bool, err error) {
	total := 0
	var head, tail [][]byte
	keepHead, keepTail := (max+1)/2, max/2
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			total++
			if len(head) < keepHead {
				head = append(head, line)
			} else if tail = append(tail, line); len(tail) > keepTail {
				tail = tail[1:]
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", false, err
		}
	}
	if total <= max {
		return "", false, nil
	}
	text = string(bytes.Join(head, nil)) + fmt.Sprintf("[... %d lines left out ...]\n", total-len(head)-len(tail)) + string(bytes.Join(tail, nil))
	return strings.TrimSuffix(text, "\n"), true, nil
}

// SoFar returns the collected output that is in memory, followed by rest.
func (s *Sink) SoFar(rest string) string {
	return string(bytes.TrimSuffix(append(bytes.Clone(s.state.Mem), rest...), []byte("\n")))
}

// State flushes the file and returns the sink's state.
func (s *Sink) State() (SinkState, error) {
	if s.out != nil {
		if err := s.out.Flush(); err != nil {
			return SinkState{}, fmt.Errorf("keep a cell's output: %w", err)
		}
	}
	return s.state, nil
}

// ResumeSink returns a Sink that continues from a state.
func ResumeSink(path string, st SinkState) (*Sink, error) {
	s := &Sink{path: path, state: st}
	if !st.File {
		return s, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep a cell's output: %w", err)
	}
	s.file, s.out = f, bufio.NewWriterSize(f, 64<<10)
	return s, nil
}
