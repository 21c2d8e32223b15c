package session

import (
	"context"
	"iter"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
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
	r, err := s.callCell(ctx, run.Timeout, wire.MethodRun, wire.Run{Code: code, Timeout: run.Timeout, KeepWaiting: run.KeepWaiting})
	if err != nil {
		return r, err
	}
	return s.awaitCell(ctx, r, run, begun)
}

// awaitCell returns a cell's result. If the host replaced its binary meanwhile,
// it goes on waiting with the new one.
func (s *Session) awaitCell(ctx context.Context, r cell.Result, run Run, begun time.Time) (cell.Result, error) {
	for r.WaitingFor == cell.ForHost {
		req := wire.Run{Cell: r.CellID, Timeout: remaining(run.Timeout, begun), KeepWaiting: run.KeepWaiting}
		var err error
		if r, err = s.callCell(ctx, req.Timeout, wire.MethodRun, req); err != nil {
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
	req := wire.Answer{Input: in, Question: run.Question, Timeout: run.Timeout, KeepWaiting: run.KeepWaiting}
	r, err := s.callCell(ctx, run.Timeout, wire.MethodAnswer, req)
	if err != nil {
		return r, err
	}
	return s.awaitCell(ctx, r, run, begun)
}

// Fire gives code to the program and returns when the cell exists.
func (s *Session) Fire(ctx context.Context, code string, timeout time.Duration) (r cell.Result, err error) {
	if code, err = Typable(code); err != nil {
		return r, err
	}
	return s.callCell(ctx, 0, wire.MethodRun, wire.Run{Code: code, Timeout: timeout, Fire: true})
}

// Interrupt presses Ctrl-C. The result is that of the cell which it ended, or
// has no id if none ran.
func (s *Session) Interrupt(ctx context.Context) (cell.Result, error) {
	return s.callCell(ctx, 0, wire.MethodInt, nil)
}

// Release ends the active cell and leaves its program running.
func (s *Session) Release(ctx context.Context) (r wire.Released, err error) {
	err = s.call(ctx, wire.MethodRelease, nil, &r)
	return r, err
}

// Cells is the store of the session's cells.
func (s *Session) Cells() cell.Store { return cell.Store{Dir: s.Dir.Cells()} }

// ActiveCell returns the id of the cell that runs, "" for none.
func (s *Session) ActiveCell() string {
	if rec, err := s.loadCell(""); err == nil && !rec.Final() {
		return rec.CellID
	}
	return ""
}

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
