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
// maxFile in a file; of more, the middle is dropped, and the file and the result
// say so. Up to maxAnswer is returned to the caller whole.
const (
	maxMemory = 256 << 10
	maxFile   = 16 << 30
	maxAnswer = 8 << 20
	endLines  = 200       // of an output that is too long, at each end
	endBytes  = 256 << 10 // and no more of its end, where it is not in the file
)

// Limit is how much of an output its caller takes. Of more the file has all.
// 0 is no limit.
type Limit struct {
	Lines int `json:"lines,omitempty"`
	Bytes int `json:"bytes,omitempty"`
}

// Tighter returns the lower of two limits.
func (l Limit) Tighter(than Limit) Limit {
	lower := func(a, b int) int {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	return Limit{lower(l.Lines, than.Lines), lower(l.Bytes, than.Bytes)}
}

// Sink collects lines.
type Sink struct {
	path  string
	max   int64 // of the file
	state SinkState
	file  *os.File // or nil while all is in memory
	out   *bufio.Writer
	err   error
	kept  int64 // bytes of the output that are in the file
	// beyond: behind the output the file has what may still change.
	beyond bool
}

// SinkState is the state of a Sink that survives an upgrade.
type SinkState struct {
	Mem   []byte `json:"mem,omitempty"`
	Size  int64  `json:"size"`
	Lines int    `json:"lines,omitempty"`
	File  bool   `json:"file,omitempty"` // it goes to the file
	Lost  bool   `json:"lost,omitempty"`
	// Unechoed says that the echo of the code was not found: the output may begin
	// with it.
	Unechoed bool `json:"unechoed,omitempty"`
	// End is the end of the output once the file is full.
	End []byte `json:"end,omitempty"`
}

// NewSink returns a Sink that collects in memory, and in the file at path
// beyond maxMemory.
func NewSink(path string) *Sink { return &Sink{path: path, max: maxFile} }

// Line adds one line, or the end of one.
func (s *Sink) Line(line []byte) {
	s.state.Lines++
	s.add(line)
	s.add(newline)
}

var newline = []byte{'\n'}

// Unechoed reports whether the echo of the code was looked for, and not found.
func (s *Sink) Unechoed() bool { return s.state.Unechoed }

// Part adds the begin of a line, or more of it.
func (s *Sink) Part(part []byte) { s.add(part) }

func (s *Sink) add(p []byte) {
	s.state.Size += int64(len(p))
	switch {
	case s.state.Lost || s.err != nil || s.state.Size > s.max:
		s.state.Lost = true
		s.addEnd(p)
		return
	case s.file == nil && s.state.Size <= maxMemory:
		s.state.Mem = append(s.state.Mem, p...)
		return
	case s.file == nil:
		if s.err = s.spill(); s.err != nil {
			s.state.Lost = true
			s.addEnd(p)
			return
		}
	}
	s.takeBack()
	s.kept += int64(len(p))
	if _, err := s.out.Write(p); err != nil { // bufio keeps the first error
		s.err = err
	}
}

// addEnd keeps the end of an output of which the middle is lost.
func (s *Sink) addEnd(p []byte) {
	p = p[max(0, len(p)-endBytes):]
	if s.state.End = append(s.state.End, p...); len(s.state.End) > 2*endBytes {
		s.state.End = append(s.state.End[:0], s.state.End[len(s.state.End)-endBytes:]...)
	}
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
	s.kept, s.state.Mem = int64(len(s.state.Mem)), nil
	return nil
}

// takeBack removes from the file what Progress put behind the output.
func (s *Sink) takeBack() {
	if !s.beyond {
		return
	}
	s.beyond = false
	err := s.file.Truncate(s.kept)
	if err == nil {
		_, err = s.file.Seek(s.kept, io.SeekStart)
	}
	if err != nil && s.err == nil {
		s.err = err
	}
}

// exceeds reports whether an output with a rest behind it is more than its
// caller takes.
func (s *Sink) exceeds(limit Limit, rest string) bool {
	lines, size := s.state.Lines, s.state.Size+int64(len(rest))
	if rest != "" {
		lines += strings.Count(rest, "\n") + 1
	}
	return limit.Lines > 0 && lines > limit.Lines || limit.Bytes > 0 && size > int64(limit.Bytes)
}

// Progress sets the output fields of r while the output goes on. rest is what
// stands behind it for now. If the caller takes less, or it is much, all of it is
// in the file, to which what comes later is added.
func (s *Sink) Progress(r *Result, rest string, limit Limit) error {
	if s.file == nil && s.err == nil && s.exceeds(limit, rest) {
		s.err = s.spill()
	}
	if s.file == nil {
		text := append(bytes.Clone(s.state.Mem), rest...)
		r.Output = string(bytes.TrimSuffix(text, []byte("\n")))
		r.Truncated = s.state.Lost
		return s.err
	}
	s.takeBack()
	err := s.out.Flush()
	if err == nil && rest != "" && !s.state.Lost {
		s.beyond = true
		_, err = s.file.WriteString(strings.TrimSuffix(rest, "\n") + "\n")
	}
	if err != nil {
		return err
	}
	size := s.state.Size
	if s.beyond {
		size += int64(len(rest))
	}
	r.Output, r.Truncated, err = s.read(size, maxMemory)
	r.OutputFile, r.OutputBytes = s.path, 0
	if r.Truncated {
		r.OutputBytes = size
	}
	return err
}

// Close ends the collection and sets the output fields of r. With an error the
// whole output could not be kept, and they hold what is left of it.
func (s *Sink) Close(r *Result, limit Limit) error {
	if s.file == nil && s.err == nil && s.exceeds(limit, "") {
		s.err = s.spill()
	}
	if s.file == nil {
		r.Output = string(bytes.TrimSuffix(s.state.Mem, []byte("\n")))
		if r.Truncated = s.state.Lost; r.Truncated {
			r.Output, r.OutputBytes = s.ends([]byte(r.Output), s.state.End), s.state.Size
			r.OutputLacks = s.lack()
		}
		return s.err
	}
	s.takeBack()
	if s.state.Lost && s.err == nil { // the end, too, is in the file
		r.OutputLacks = s.lack()
		end := bytes.TrimSuffix(s.state.End, newline)
		fmt.Fprintf(s.out, "\n[... %s ...]\n%s\n", r.OutputLacks, end) // bufio keeps the first error for Flush
	}
	err := errors.Join(s.err, s.out.Flush())
	if cerr := s.file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		s.state.Lost = true
	}
	text, truncated, rerr := s.read(s.state.Size, maxAnswer)
	if r.Output, r.Truncated = text, truncated; truncated {
		r.OutputBytes = s.state.Size
	}
	if err != nil || rerr != nil {
		os.Remove(s.path) // Best effort: it is incomplete, and the disk may be full.
		r.OutputLacks = "what could not be written"
		return errors.Join(err, rerr)
	}
	r.OutputFile = s.path
	return nil
}

// lack says what is missing of an output that was not kept whole.
func (s *Sink) lack() string {
	return fmt.Sprintf("%d bytes before the last %d are missing", max(0, s.state.Size-s.kept-int64(len(s.state.Mem)+len(s.state.End))), len(s.state.End))
}

// read returns an output of size bytes for a result: whole, or its two ends.
func (s *Sink) read(size, most int64) (text string, truncated bool, err error) {
	if size <= most && !s.state.Lost {
		raw, err := os.ReadFile(s.path)
		return string(bytes.TrimSuffix(raw, []byte("\n"))), false, err
	}
	raw, err := readEnds(s.path, most/4)
	if err != nil {
		return "", true, err
	}
	if len(s.state.End) > 0 {
		raw[1] = s.state.End
	}
	return s.ends(raw[0], raw[1]), true, nil
}

// ends returns the two ends of an output that is too long, or could not be kept.
func (s *Sink) ends(begin, end []byte) string {
	return fmt.Sprintf("%s\n[... %d bytes in all; the middle is left out ...]\n%s", firstLines(begin, endLines), s.state.Size, lastLines(end, endLines))
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

// CutFile is Cut for an output that is kept in a file. It reads the file once,
// and holds no more of it than maxAnswer.
func CutFile(f *os.File, max int) (text string, cut bool, err error) {
	total, size, ended := 0, int64(0), true
	block := make([]byte, 256<<10)
	for {
		n, err := f.Read(block)
		if n > 0 {
			total += bytes.Count(block[:n], []byte{'\n'})
			size += int64(n)
			ended = block[n-1] == '\n'
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", false, err
		}
	}
	if !ended {
		total++
	}
	if total <= max {
		return "", false, nil
	}
	most := min(size, maxAnswer/2)
	ends := [2][]byte{make([]byte, most), make([]byte, most)}
	for i, at := range []int64{0, size - most} {
		if _, err := f.ReadAt(ends[i], at); err != nil {
			return "", false, err
		}
	}
	head, keepTail := firstLines(ends[0], (max+1)/2), max/2
	if bytes.Count(head, []byte{'\n'}) < (max+1)/2-1 || bytes.Count(ends[1], []byte{'\n'}) < keepTail {
		return joinEnds(string(head), string(bytes.TrimSuffix(lastLines(ends[1], keepTail), []byte{'\n'})), int(size)), true, nil
	}
	text = fmt.Sprintf("%s\n[... %d lines left out ...]", head, total-(max+1)/2-keepTail)
	if keepTail > 0 {
		text += "\n" + string(lastLines(ends[1], keepTail))
	}
	return text, true, nil
}

// State flushes the file and returns the sink's state.
func (s *Sink) State() (SinkState, error) {
	if s.out != nil {
		s.takeBack()
		if err := s.out.Flush(); err != nil {
			return SinkState{}, fmt.Errorf("keep a cell's output: %w", err)
		}
	}
	return s.state, nil
}

// ResumeSink returns a Sink that continues from a state.
func ResumeSink(path string, st SinkState) (*Sink, error) {
	s := NewSink(path)
	s.state = st
	if !st.File {
		return s, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep a cell's output: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close() // Best effort: nothing was written.
		return nil, fmt.Errorf("keep a cell's output: %w", err)
	}
	s.file, s.out = f, bufio.NewWriterSize(f, 64<<10)
	s.kept = info.Size()
	return s, nil
}
