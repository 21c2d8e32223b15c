package host

import (
	"context"
	"encoding/json"
	"log"
	"strings"
	"sync"
	"time"

	"den/internal/cell"
	"den/internal/eventlog"
	"den/internal/fault"
	"den/internal/ident"
	"den/internal/wire"
)

// cells runs code in the session, one cell at a time.
type cells struct {
	h     *Host
	store cell.Store
	given string         // the prompt by which cells end, or ""
	hook  string         // the path of the program that tells, or ""
	work  sync.WaitGroup // the goroutine of the active cell

	mu      sync.Mutex // guards active, learned and the records of cells; taken before core.mu
	active  *running
	learned prompt // the program's, at the last cell
}

// running is a cell that was given to the program.
type running struct {
	cells *cells
	begun time.Duration
	turn  *cellTurn

	lines   []string // what is still to be typed, for programs that take a line at a time
	typed   string   // the line that was typed last
	sent    bool     // the code, or its first line
	byShell bool     // it was sent at the prompt of a shell with marks
	sentSeq uint64   // of the last output when the code was sent
	prompt  prompt   // what stood left of the cursor when the code was sent

	// guarded by cells.mu
	record  cell.Record
	late    bool          // its caller stopped waiting
	pressed bool          // somebody interrupted it
	changed chan struct{} // closed, and replaced, when the record changes
}

// prompt is a prompt and the column behind it.
type prompt struct {
	text string
	col  int
}

// learn returns the program's prompt. What stands left of the cursor is more
// than that where the last output ended without a newline.
func (cs *cells) learn(p prompt) prompt {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if last := cs.learned; last.text != "" && p.text != last.text && strings.HasSuffix(p.text, last.text) {
		return last
	}
	cs.learned = p
	return p
}

// run gives code to the program and waits for its end, for a question of the
// program, or for the end of the caller's patience.
func (cs *cells) run(ctx context.Context, req wire.Run) (cell.Result, error) {
	if req.Cell != "" {
		return cs.rejoin(ctx, req)
	}
	r, err := cs.begin(req)
	if err != nil {
		return cell.Result{}, err
	}
	if req.Fire {
		return cell.Result{CellID: r.record.CellID, Status: cell.Fired}, nil
	}
	return r.await(ctx, req.Timeout, !req.KeepWaiting)
}

// rejoin waits for a cell that was begun before the host replaced its binary.
func (cs *cells) rejoin(ctx context.Context, req wire.Run) (cell.Result, error) {
	cs.mu.Lock()
	r := cs.active
	cs.mu.Unlock()
	if r == nil || r.record.CellID != req.Cell {
		rec, err := cs.store.Load(req.Cell)
		return rec.Result, err
	}
	return r.await(ctx, req.Timeout, !req.KeepWaiting)
}

// begin makes the one active cell, before anything is sent.
func (cs *cells) begin(req wire.Run) (*running, error) {
	if err := cs.h.requireRunning(); err != nil {
		return nil, err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.active != nil {
		id := cs.active.record.CellID
		return nil, fault.Hintf(fault.Errorf(fault.Busy, "active cell '%s'", id), "'den poll' tells how it goes, 'den int' interrupts it, 'den kill' ends the session")
	}
	now := time.Now()
	id := ident.New(now)
	r := &running{
		cells: cs, begun: cs.h.core.clock(), changed: make(chan struct{}),
		turn: &cellTurn{sink: cell.NewSink(cs.store.OutputPath(id)), moved: make(chan struct{}, 1)},
		record: cell.Record{
			Result: cell.Result{CellID: id, Status: cell.Running}, Code: req.Code, Started: now.UTC(),
		},
	}
	if err := cs.store.Save(r.record); err != nil {
		return nil, err
	}
	cs.active = r
	r.record.StartSeq = cs.event("fired", r.record.Result, req.Code)
	cs.work.Go(r.drive)
	return r, nil
}

// cellEvent is what the log says of a cell.
type cellEvent struct {
	Cell   string  `json:"cell_id"`
	Status string  `json:"status"`
	Code   string  `json:"code,omitempty"`
	By     cell.By `json:"by,omitempty"`
	Exit   *int    `json:"exit_code,omitempty"`
}

// event writes a change of a cell into the log.
func (cs *cells) event(status string, r cell.Result, code string) uint64 {
	raw, err := json.Marshal(cellEvent{Cell: r.CellID, Status: status, Code: code, By: r.By, Exit: r.ExitCode})
	if err != nil {
		panic(err) // plain values
	}
	return cs.h.core.append(eventlog.Cell, raw)
}

// await returns when the cell is over, asks something, or time is up.
func (r *running) await(ctx context.Context, limit time.Duration, questions bool) (cell.Result, error) {
	var deadline <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		deadline = t.C
	}
	for {
		res, changed := r.look()
		if res.Final() || questions && res.WaitingFor != "" {
			return res, nil
		}
		select {
		case <-changed:
		case <-deadline:
			return r.giveUp(), nil
		case <-ctx.Done():
			return res, ctx.Err()
		case <-r.cells.h.upgrading:
			res.WaitingFor = cell.ForHost
			return res, nil
		}
	}
}

func (r *running) look() (cell.Result, <-chan struct{}) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	res := r.record.Result
	if !res.Final() {
		res.DurationMS = (r.cells.h.core.clock() - r.begun).Milliseconds()
	}
	return res, r.changed
}

// giveUp notes that the caller's time is up. The cell runs on, and its end is
// still recognised.
func (r *running) giveUp() cell.Result {
	r.update(func(rec *cell.Record) { r.late = true })
	res, _ := r.look()
	if res.Final() {
		return res
	}
	res.Status = cell.TimedOut
	res.Output = r.outputSoFar()
	return res
}

// update changes the record, keeps it, and tells those who wait.
func (r *running) update(change func(*cell.Record)) {
	cs := r.cells
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if r.record.Final() {
		return
	}
	change(&r.record)
	kept := r.record
	if r.late && !kept.Final() {
		kept.Status = cell.TimedOut
	}
	if err := cs.store.Save(kept); err != nil {
		log.Printf("keep cell: %v", err) // the caller still gets its answer
	}
	close(r.changed)
	r.changed = make(chan struct{})
	if r.record.Final() {
		cs.active = nil
	}
}

// finish ends the cell with what is known of its end.
func (r *running) finish(end cell.Result) {
	c := r.cells.h.core
	c.mu.Lock()
	c.cell = nil
	c.mu.Unlock()
	if r.turn.hook != nil {
		r.turn.hook.close()
	}
	if err := r.turn.sink.Close(&end); err != nil {
		log.Printf("keep a cell's output: %v", err)
	}
	end.CellID = r.record.CellID
	end.DurationMS = (c.clock() - r.begun).Milliseconds()
	r.cells.mu.Lock()
	pressed := r.pressed
	r.cells.mu.Unlock()
	if pressed {
		end.Status, end.By = cell.Failed, cell.ByInt
		end.Output = "interrupted"
	}
	seq := r.cells.event(string(end.Status), end, "")
	r.update(func(rec *cell.Record) { rec.Result, rec.EndSeq = end, seq })
}

// interrupt presses Ctrl-C and waits a moment for the cell to end.
func (cs *cells) interrupt(ctx context.Context) (cell.Result, error) {
	cs.mu.Lock()
	r := cs.active
	if r != nil {
		r.pressed = true
	}
	cs.mu.Unlock()
	if _, err := cs.h.sendInput(wire.Input{Keys: []string{"C-c"}}); err != nil {
		return cell.Result{}, err
	}
	if r == nil {
		return cell.Result{}, nil
	}
	res, err := r.await(ctx, intPatience, false)
	if err != nil || res.Final() {
		return res, err
	}
	return res, fault.Hintf(fault.Errorf(fault.Busy, "cell '%s' does not react to Ctrl-C", res.CellID), "'den signal' sends others, 'den kill' ends the session")
}

// intPatience is how long a program may take to react to Ctrl-C.
const intPatience = 3 * time.Second
