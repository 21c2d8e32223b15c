package session

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// Peek returns a cell as it is now, with the output so far. Nothing waits for it. If
// run asks for a part of a longer output, the whole is in a file; Part returns it.
func (s *Session) Peek(ctx context.Context, id string, run Run) (cell.Result, error) {
	// An older host takes it for a wait, which is short then.
	req := wire.Run{Cell: id, Fire: true, Timeout: time.Millisecond, MaxLines: run.MaxLines, MaxBytes: run.MaxBytes}
	r, err := s.callCell(ctx, s.atOnce, wire.MethodRun, req)
	if fault.KindOf(err) == fault.NotRunning && !s.options.Remote {
		return s.Poll(id)
	}
	return r, err
}

// Part returns a result with the part of its output that run asks for, of what
// is behind the first read bytes.
func (s *Session) Part(r cell.Result, run Run, read int) (cell.Result, error) {
	if run.Only == nil && read == 0 {
		return s.cut(r, run)
	}
	rest, dropped := r.Output[min(read, len(r.Output)):], false
	if run.Only != nil {
		var err error
		if rest, dropped, err = s.matching(r, rest, run.Only); err != nil {
			return r, err
		}
	}
	text, long := cell.Cut(rest, run.MaxLines)
	text, large := cell.CutBytes(text, run.MaxBytes)
	if dropped || long || large {
		if r.OutputFile == "" && r.Final() && !s.options.Remote {
			r.OutputFile = s.keepOutput(r)
		}
		r.Truncated = true
	}
	r.Output = text
	return r, nil
}

// maxMatching bounds what matching returns of a large output.
const maxMatching = 8 << 20

// matching returns the lines that match: of the text, or of the file where the
// result has only the ends.
func (s *Session) matching(r cell.Result, text string, only *regexp.Regexp) (found string, dropped bool, err error) {
	from := io.Reader(strings.NewReader(text))
	if r.Truncated && r.OutputFile != "" && !s.options.Remote {
		f, err := s.openOutput(r.CellID)
		if err != nil {
			return "", false, fault.Errorf(fault.Storage, "read the output of cell '%s': %w", r.CellID, err)
		}
		defer f.Close() // Best effort: it was only read.
		from = f
	}
	var b strings.Builder
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadString('\n')
		switch {
		case line == "":
		case !only.MatchString(strings.TrimSuffix(line, "\n")), b.Len()+len(line) > maxMatching:
			dropped = true
		default:
			b.WriteString(line)
		}
		if err == io.EOF {
			return strings.TrimSuffix(b.String(), "\n"), dropped, nil
		}
		if err != nil {
			return "", false, fault.Errorf(fault.Storage, "read the output of cell '%s': %w", r.CellID, err)
		}
	}
}
