package session

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/session/cell"
)

// callCell asks the host for something that it answers with a cell, within
// limit as callWithin does.
func (s *Session) callCell(ctx context.Context, limit time.Duration, method string, params any) (r cell.Result, err error) {
	if err := s.callWithin(ctx, limit, method, params, &r); err != nil {
		return r, err
	}
	if r.CellID != "" { // none: there was nothing to interrupt
		if err := cell.CheckID(r.CellID); err != nil {
			return cell.Result{}, fault.Errorf(fault.Protocol, "host of session '%s': %w", s.Dir.ID, err)
		}
	}
	s.locateOutput(&r)
	return r, nil
}

// locateOutput sets where the cell's whole output is. The path in the answer is
// not used: what answers may be a program in a container that has the session's
// directory, and would have the caller read a file of the user.
func (s *Session) locateOutput(r *cell.Result) {
	if r.OutputFile == "" || s.options.Remote {
		return
	}
	r.OutputFile = ""
	if f, err := s.openOutput(r.CellID); err == nil {
		r.OutputFile = s.Cells().OutputPath(r.CellID)
		f.Close() // Best effort: nothing was read.
	}
}

// openOutput opens the file of a cell's whole output. No link leads out of the
// session's directory.
func (s *Session) openOutput(id string) (*os.File, error) {
	if err := cell.CheckID(id); err != nil {
		return nil, err
	}
	root, rel, err := s.outputIn(id)
	if err != nil {
		return nil, err
	}
	defer root.Close() // Best effort: what is opened below it stays open.
	if fi, err := root.Lstat(rel); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", rel, atomicfile.ErrNotRegular)
	}
	return atomicfile.OpenIn(root, rel)
}

// outputIn returns the session's directory, and where in it a cell's whole
// output is.
func (s *Session) outputIn(id string) (root *os.Root, rel string, err error) {
	if rel, err = filepath.Rel(s.Dir.Path, s.Cells().OutputPath(id)); err != nil {
		return nil, "", err
	}
	root, err = os.OpenRoot(s.Dir.Path)
	return root, rel, err
}

// maxOutput is how much of an output ReadOutput takes.
const maxOutput = 1 << 30

// ReadOutput returns the whole output of a cell, if it was kept in a file.
func (s *Session) ReadOutput(id string) (string, error) {
	f, err := s.openOutput(id)
	if err != nil {
		return "", fault.Errorf(fault.Storage, "read the output of cell '%s': %w", id, err)
	}
	defer f.Close() // Best effort: it was only read.
	raw, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if err == nil && len(raw) > maxOutput {
		err = atomicfile.ErrTooLarge
	}
	if err != nil {
		return "", fault.Errorf(fault.Storage, "read the output of cell '%s': %w", id, err)
	}
	return string(raw), nil
}

// cut keeps the two ends of a long output.
func (s *Session) cut(r cell.Result, run Run) (cell.Result, error) {
	r, err := s.shorten(r, run.MaxLines, cell.Cut, cell.CutFile)
	if err != nil || len(r.Output) <= run.MaxBytes {
		return r, err
	}
	return s.shorten(r, run.MaxBytes, cell.CutBytes, cell.CutBytesFile)
}

// shorten cuts an output to a limit, if there is one. The answer of a host may
// not be whole: then the file is.
func (s *Session) shorten(
	r cell.Result, limit int, cut func(string, int) (string, bool), cutFile func(*os.File, int) (string, bool, error),
) (cell.Result, error) {
	if r.Truncated && r.OutputFile != "" && limit > 0 && !s.options.Remote {
		text, shortened, err := s.cutKept(r.CellID, limit, cutFile)
		if err != nil {
			return r, fault.Errorf(fault.Storage, "read the output of cell '%s': %w", r.CellID, err)
		}
		if shortened {
			r.Output = text
		}
		return r, nil
	}
	if text, shortened := cut(r.Output, limit); shortened {
		if r.OutputFile == "" && !s.options.Remote {
			r.OutputFile = s.keepOutput(r)
		}
		r.Output, r.Truncated = text, true
	}
	return r, nil
}

// cutKept cuts the output that is in the cell's file.
func (s *Session) cutKept(id string, limit int, cutFile func(*os.File, int) (string, bool, error)) (string, bool, error) {
	f, err := s.openOutput(id)
	if err != nil {
		return "", false, err
	}
	defer f.Close() // Best effort: it was only read.
	return cutFile(f, limit)
}

// keepOutput puts an output that is returned in part where it can be read
// whole. The session's directory may be shared with a container, so a link in it
// is not followed out of it.
func (s *Session) keepOutput(r cell.Result) string {
	root, rel, err := s.outputIn(r.CellID)
	if err != nil {
		return "" // Best effort: what is left out is still in the log.
	}
	defer root.Close() // Best effort: the file is closed after its write.
	if s.Dir.Home.CheckOwner() != nil || atomicfile.ReplaceIn(root, rel, []byte(r.Output+"\n")) != nil {
		return "" // Best effort, as above.
	}
	return s.Cells().OutputPath(r.CellID)
}
