package session

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"time"

	"den/internal/atomicfile"
	"den/internal/cell"
	"den/internal/eventlog"
	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"
)

// Run is code for the session's program.
type Run struct {
	Code    string
	Timeout time.Duration // 0: no end; the cell runs on after it
	// KeepWaiting does not return when the program asks something.
	KeepWaiting bool
	// Question, when not empty, is what Answer answers: nothing is typed if the
	// cell asks something else by now.
	Question string
	// MaxLines, when not 0, keeps only the first and the last lines of a longer
	// output; the whole is in the result's OutputFile.
	MaxLines int
	// MaxBytes, when not 0, does the same by size.
	MaxBytes int
}

// Run gives code to the program and waits until it is done, asks something,
// or time is up.
func (s *Session) Run(ctx context.Context, run Run) (cell.Result, error) {
	code, err := Typable(run.Code)
	if err != nil {
		return cell.Result{}, err
	}
	begun := time.Now()
	var r cell.Result
	if err := s.callWithin(ctx, run.Timeout, wire.MethodRun, wire.Run{Code: code, Timeout: run.Timeout, KeepWaiting: run.KeepWaiting}, &r); err != nil {
		return r, err
	}
	return s.awaitCell(ctx, r, run, begun)
}

// awaitCell returns a cell's result. If the host replaced its binary meanwhile,
// it goes on waiting with the new one.
func (s *Session) awaitCell(ctx context.Context, r cell.Result, run Run, begun time.Time) (cell.Result, error) {
	for r.WaitingFor == cell.ForHost {
		req := wire.Run{Cell: r.CellID, Timeout: remaining(run.Timeout, begun), KeepWaiting: run.KeepWaiting}
		r = cell.Result{}
		if err := s.callWithin(ctx, req.Timeout, wire.MethodRun, req, &r); err != nil {
			return r, err
		}
	}
	return s.cut(r, run)
}

// Await goes on waiting for a cell, the last one without an id, as Run does. Of
// a cell that is over it returns the result. The Code of run is not used.
func (s *Session) Await(ctx context.Context, id string, run Run) (cell.Result, error) {
	if id == "" {
		last, err := s.Poll("")
		if err != nil {
			return last, err
		}
		id = last.CellID
	}
	// As a client goes on whose host was replaced.
	r, err := s.awaitCell(ctx, cell.Result{CellID: id, WaitingFor: cell.ForHost}, run, time.Now())
	if fault.KindOf(err) == fault.NotRunning && !s.options.Remote {
		if r, err = s.Poll(id); err == nil {
			return s.cut(r, run)
		}
	}
	return r, err
}

// Answer types the answer to what the active cell asks, and waits as Run does:
// until the next question, the end, or the time is up. The Code of run is not
// used.
func (s *Session) Answer(ctx context.Context, in wire.Input, run Run) (cell.Result, error) {
	begun := time.Now()
	var r cell.Result
	req := wire.Answer{Input: in, Question: run.Question, Timeout: run.Timeout, KeepWaiting: run.KeepWaiting}
	if err := s.callWithin(ctx, run.Timeout, wire.MethodAnswer, req, &r); err != nil {
		return r, err
	}
	return s.awaitCell(ctx, r, run, begun)
}

// Fire gives code to the program and returns when the cell exists.
func (s *Session) Fire(ctx context.Context, code string, timeout time.Duration) (r cell.Result, err error) {
	if code, err = Typable(code); err != nil {
		return r, err
	}
	err = s.call(ctx, wire.MethodRun, wire.Run{Code: code, Timeout: timeout, Fire: true}, &r)
	return r, err
}

// Interrupt presses Ctrl-C. The result is that of the cell which it ended, or
// has no id if none ran.
func (s *Session) Interrupt(ctx context.Context) (r cell.Result, err error) {
	err = s.call(ctx, wire.MethodInt, nil, &r)
	return r, err
}

// Release ends the active cell and leaves its program running.
func (s *Session) Release(ctx context.Context) (r wire.Released, err error) {
	err = s.call(ctx, wire.MethodRelease, nil, &r)
	return r, err
}

// Cells is the store of the session's cells.
func (s *Session) Cells() cell.Store { return cell.Store{Dir: s.Dir.Cells()} }

// loadCell reads the record of a cell, which is a file.
func (s *Session) loadCell(id string) (cell.Record, error) {
	if s.options.Remote {
		return cell.Record{}, fault.Errorf(fault.Unsupported, "read cell '%s': the session's files are not on this machine", id)
	}
	return s.Cells().Load(id)
}

// Poll tells how a cell goes or went; without an id, the last one. It reads
// the cell's record: the same few bytes whatever the log's size.
func (s *Session) Poll(id string) (cell.Result, error) {
	return poll(func() (cell.Record, error) { return s.loadCell(id) }, s.Dir.Reconcile)
}

// poll reads a cell's record, and the session's where the cell is not over. A
// host closes its cell's record before the session's, so the cell's is read
// again once the session is known to be over: only then is a cell that is not
// over one whose host died.
func poll(load func() (cell.Record, error), reconcile func() (*home.Manifest, error)) (cell.Result, error) {
	rec, err := load()
	if err != nil || rec.Final() {
		return rec.Result, err
	}
	m, err := reconcile()
	if err == nil && m.Status.Final() {
		rec, err = load()
	}
	r := rec.Result
	if err != nil || r.Final() {
		return r, err
	}
	r.DurationMS = time.Since(rec.Started).Milliseconds()
	if m.Status.Final() {
		r.Status, r.WaitingFor, r.Question, r.Certainty = cell.Failed, "", "", ""
		r.Output = "the session is " + m.Ending()
	}
	return r, nil
}

// RawOutput yields the bytes that the program wrote while a cell ran, each
// time it is called.
func (s *Session) RawOutput(id string) (func() iter.Seq2[[]byte, error], error) {
	rec, err := s.loadCell(id)
	if err != nil {
		return nil, err
	}
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return nil, err
	}
	return func() iter.Seq2[[]byte, error] { return cellBytes(log, rec) }, nil
}

func cellBytes(log *eventlog.Log, rec cell.Record) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range log.Events(rec.StartSeq) {
			if err != nil {
				yield(nil, err)
				return
			}
			if rec.EndSeq > 0 && e.Seq > rec.EndSeq {
				return
			}
			if p, ok := e.Output(); ok && !yield(p, nil) {
				return
			}
		}
	}
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
	r cell.Result, limit int, cut func(string, int) (string, bool), cutFile func(string, int) (string, bool, error),
) (cell.Result, error) {
	if r.Truncated && r.OutputFile != "" && limit > 0 && !s.options.Remote {
		text, shortened, err := cutFile(r.OutputFile, limit)
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

// keepOutput puts an output that is returned in part where it can be read
// whole. The session's directory may be shared with a container, so a link in it
// is not followed out of it.
func (s *Session) keepOutput(r cell.Result) string {
	root, err := os.OpenRoot(s.Dir.Path)
	if err != nil || s.Dir.Home.CheckOwner() != nil {
		return "" // Best effort: what is left out is still in the log.
	}
	defer root.Close() // Best effort: the file is closed after its write.
	path := s.Cells().OutputPath(r.CellID)
	rel, err := filepath.Rel(s.Dir.Path, path)
	if err != nil || atomicfile.ReplaceIn(root, rel, []byte(r.Output+"\n")) != nil {
		return "" // Best effort, as above.
	}
	return path
}
