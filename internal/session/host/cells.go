package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/wake"
	"den/internal/process/pty"
	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// cells runs code in the session, one cell at a time.
type cells struct {
	h       *Host
	store   cell.Store
	program cell.Program
	hook    string         // the path of the program that tells when a cell has ended, or ""
	work    sync.WaitGroup // the goroutine of the active cell
	// interrupting is a semaphore of one: interrupts take turns.
	interrupting chan struct{}

	mu      sync.Mutex // guards the fields below and the records of cells; taken before core.mu
	active  *running
	learned cell.Prompt // the program's, at the last cell
	bare    bool        // the session's shell has lost its marks
	// unwatched is, while the last cell is one that ended without anybody waiting
	// for it, core's inputs then, and one more; else 0.
	unwatched int
	unpruned  int           // cells that ended since old ones were forgotten
	restedAt  uint64        // core's activity when a program was last known to rest; 0 never
	unsaved   []cell.Record // of cells that ended while the disk was full, oldest first
}

// running is the active cell.
type running struct {
	cells *cells
	id    string
	pass  *cellPass
	state cell.State // drive's

	// guarded by cells.mu
	life     cellLife
	awaited  int // callers that wait for it
	heeding  int // those of them that are told its questions
	journal  *cell.Journal
	patience *time.Timer   // or nil: tells when a fired cell is late
	changed  chan struct{} // closed, and replaced, when the record changes
	released wake.Signal   // set once: somebody gives the session back
}

// run sends code to the program and waits until the cell ends, the program
// asks a question, or the caller's timeout passes. known are answers that the host
// gives.
func (cs *cells) run(ctx context.Context, req wire.Run, known ...cell.Known) (cell.Result, error) {
	if req.Cell != "" {
		return cs.rejoin(ctx, req)
	}
	if err := cs.leaveToShell(ctx); err != nil {
		return cell.Result{}, err
	}
	r, id, err := cs.begin(req, known, false)
	if err != nil {
		return cell.Result{}, err
	}
	if req.Fire {
		return cell.Result{CellID: id, Status: cell.Fired}, nil
	}
	defer r.addAwaited(-1)
	if !req.KeepWaiting {
		defer r.addHeeding(-1)
	}
	return r.await(ctx, req.Timeout, !req.KeepWaiting)
}

// takes notes how much output a caller will show.
func (r *running) takes(limit cell.Limit) {
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	r.pass.Limit = r.pass.Limit.Tighter(limit)
}

// rejoin waits for a cell that was begun before the host replaced its binary.
func (cs *cells) rejoin(ctx context.Context, req wire.Run) (cell.Result, error) {
	cs.mu.Lock()
	r := cs.active
	cs.mu.Unlock()
	if r == nil || r.id != req.Cell {
		rec, err := cs.store.Load(req.Cell)
		if err == nil {
			cs.h.noteTaken()
		}
		return rec.Result, err
	}
	r.takes(cell.Limit{Lines: req.MaxLines, Bytes: req.MaxBytes})
	if req.Fire {
		res, _ := r.progress()
		if !res.Final() {
			res.ShowOutput(r.outputSoFar())
		}
		return res, nil
	}
	return r.await(ctx, req.Timeout, !req.KeepWaiting)
}

// begin makes a new cell the active one, before anything is sent. onlyMarks says
// that it has no code, and brings a shell's marks.
func (cs *cells) begin(req wire.Run, known []cell.Known, onlyMarks bool) (r *running, id string, err error) {
	if err := cs.h.requireRunning(); err != nil {
		return nil, "", err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.active != nil {
		id := cs.active.id
		return nil, "", fault.Hintf(fault.Errorf(fault.Busy, "active cell '%s'", id), "%s", waysOut)
	}
	now := time.Now()
	id = ident.New(now)
	r = &running{
		cells: cs, id: id, changed: make(chan struct{}), released: wake.New(), state: cell.Begin(req.Code, cs.learned),
		pass: &cellPass{sink: cell.NewSink(cs.store.OutputPath(id)), moved: wake.New()},
		life: cellLife{Begun: cs.h.core.clock(), BegunTick: pty.Ticks(), Known: known, Record: cell.Record{
			Result: cell.Result{CellID: id, Status: cell.Running}, Code: req.Code, Started: now.UTC(),
		}},
	}
	r.state.Bare, r.state.OnlyMarks = cs.bare, onlyMarks
	r.pass.Limit = cell.Limit{Lines: req.MaxLines, Bytes: req.MaxBytes}
	cs.unwatched = 0
	if !req.Fire {
		r.awaited = 1 // from the beginning: it may end at once
		if !req.KeepWaiting {
			r.heeding = 1
		}
	}
	cs.saveUnsavedLocked()
	r.journal, err = cs.store.Begin(r.life.Record)
	switch {
	case diskFull(err): // the code may be what makes room
		r.life.Record.AddNotSaved(notSaved("its record", err))
	case err != nil:
		return nil, "", errors.Join(err, r.journal.Remove())
	}
	r.life.LostEvents = cs.h.core.lostEvents()
	cs.active = r
	if req.Fire && req.Timeout > 0 {
		r.life.LateAt = r.life.Begun + req.Timeout
	}
	r.armPatience()
	code := req.Code
	if cs.h.manifest().RecordInput == home.RecordNone {
		code = ""
	}
	r.life.Record.StartSeq = cs.event("fired", r.life.Record.Result, code, false)
	if req.Fire { // its caller learns from the record where the output begins
		if err := r.saveLocked(r.life.Record); err != nil {
			log.Print(err)
		}
	}
	cs.work.Go(r.drive)
	return r, id, nil
}

// waysOut names what can be done about a cell that runs on, and waysOutAfterInt where
// Ctrl-C did not end it.
const (
	waysOut         = "'den poll' tells how it goes; 'den answer', 'den type' and 'den keys' reach its program; 'den int' interrupts it; " + lastWays
	waysOutAfterInt = "'den int' presses it again; 'den signal' sends other signals; " + lastWays
	lastWays        = "'den release' gives the session back and leaves the program running; 'den kill' ends the session"
)

// cellEvent is the log's entry about a cell.
type cellEvent struct {
	Cell   string  `json:"cell_id"`
	Status string  `json:"status"`
	Code   string  `json:"code,omitempty"`
	By     cell.By `json:"by,omitempty"`
	Exit   *int    `json:"exit_code,omitempty"`
	// of a question
	WaitingFor string `json:"waiting_for,omitempty"`
	Question   string `json:"question,omitempty"`
	InnerShell bool   `json:"inner_shell,omitempty"`
	// Told says that a caller waits for it, who is told in another way.
	Told bool `json:"told,omitempty"`
}

// event logs a change of a cell.
func (cs *cells) event(status string, r cell.Result, code string, told bool) uint64 {
	raw, err := json.Marshal(cellEvent{
		Cell: r.CellID, Status: status, Code: code, By: r.By, Exit: r.ExitCode,
		WaitingFor: r.WaitingFor, Question: r.Question, InnerShell: r.InnerShell, Told: told,
	})
	if err != nil {
		panic(err) // plain values
	}
	return cs.h.core.append(eventlog.Cell, raw)
}

// await returns when the cell is over, the program asks a question, or time is
// up.
func (r *running) await(ctx context.Context, limit time.Duration, questions bool) (cell.Result, error) {
	var deadline <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		deadline = t.C
	}
	r.join()
	defer r.addAwaited(-1)
	if questions {
		r.addHeeding(1)
		defer r.addHeeding(-1)
	}
	for {
		res, changed := r.progress()
		if res.Final() || questions && res.Asks() {
			r.cells.h.core.noteTold()
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

// join makes the caller one that waits for the cell. If the cell ended before,
// as it may while its answer is typed, its end was noted as news: it is none.
func (r *running) join() {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.awaited++
	if r.life.Record.Final() {
		r.cells.h.noteTaken()
	}
}

// addAwaited counts the callers that wait for the cell.
func (r *running) addAwaited(n int) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.awaited += n
}

// addHeeding counts those of them that are told what it asks.
func (r *running) addHeeding(n int) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.heeding += n
}

func (r *running) progress() (cell.Result, <-chan struct{}) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	res := r.life.Record.Result
	if !res.Final() {
		res.DurationMS = (r.cells.h.core.clock() - r.life.Begun).Milliseconds()
	}
	return res, r.changed
}

// giveUp records that the caller's time is up. The cell keeps running, and its
// end is still detected.
func (r *running) giveUp() cell.Result {
	now := r.outputSoFar()
	r.update(func(rec *cell.Record) {
		r.life.Late = true
		rec.ShowOutput(now)
		if !r.life.Sent {
			rec.WaitingFor = cell.ForProgram
		}
	})
	res, _ := r.progress()
	if !res.Final() {
		res.Status = cell.TimedOut
	}
	return res
}

// armPatience starts the timeout of a fired cell. Nobody waits for the cell;
// when the time is up it is marked as late.
func (r *running) armPatience() {
	if r.life.LateAt == 0 || r.life.Late || r.patience != nil {
		return
	}
	r.patience = time.AfterFunc(r.life.LateAt-r.cells.h.core.clock(), func() { r.giveUp() })
}

// update changes the record, saves it, and wakes those who wait for the cell.
func (r *running) update(change func(*cell.Record)) {
	r.cells.mu.Lock()
	defer r.cells.mu.Unlock()
	r.updateLocked(change)
}

func (r *running) updateLocked(change func(*cell.Record)) {
	cs := r.cells
	record := &r.life.Record
	if record.Final() {
		return
	}
	change(record)
	kept := *record
	if r.life.Late && !kept.Final() {
		kept.Status = cell.TimedOut
	}
	if err := r.saveLocked(kept); err != nil {
		log.Print(err)
		record.AddNotSaved(notSaved("its record", err)) // the caller still gets its answer
	}
	r.noteCellLocked()
	if record.Final() {
		if err := r.journal.Close(); err != nil {
			log.Printf("keep cell '%s': %v", r.id, err)
		}
		// After the record, so that who hears of the end finds the result.
		cs.event(string(kept.Status), kept.Result, "", r.awaited > 0)
		cs.active = nil
		if r.awaited == 0 {
			cs.unwatched = cs.h.core.inputs() + 1
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// finish ends the cell with the given result. problem is what prevented it
// from continuing, or "".
func (r *running) finish(end cell.Result, problem string) {
	c := r.cells.h.core
	if r.patience != nil {
		r.patience.Stop()
	}
	c.mu.Lock()
	if c.cell == r.pass && !r.state.ByShell {
		r.pass.stayedOnAlt(c.term)
	}
	c.cell = nil
	silent := c.shell.Silent && !c.shell.NoEditor()
	c.mu.Unlock()
	if r.pass.hook != nil {
		r.pass.hook.close()
	}
	if r.pass.take != nil {
		r.pass.take.Flush()
	}
	if silent && end.By == cell.ByShell && r.pass.sink.Unechoed() {
		end.Certainty = cell.Likely
	}
	end.OutputLacks = r.pass.Lacks
	if err := r.pass.sink.Close(&end, r.pass.Limit); err != nil {
		log.Printf("keep a cell's output: %v", err)
		end.AddNotSaved(notSaved("its whole output", err))
	}
	if lost := c.lostEvents() - r.life.LostEvents; lost > 0 {
		end.AddNotSaved(c.describeLost(lost))
	}
	end.CellID = r.id
	end.DurationMS = (c.clock() - r.life.Begun).Milliseconds()
	if problem != "" {
		end.Output = strings.TrimPrefix(end.Output+"\n"+problem, "\n")
	}
	seq := c.position().Seq
	r.update(func(rec *cell.Record) {
		end.Interrupted, end.Answered = r.life.Pressed, rec.Answered
		rec.Result, rec.EndSeq = end, seq
	})
	r.cells.prune(end.OutputFile != "")
}

// Limits on the cells that are kept for one session. Listing the directory is
// expensive, so it happens once in pruneEvery cells and after a large output.
const (
	keptCells  = 1000
	keptOutput = 256 << 20
	pruneEvery = 100
)

// prune forgets old cells.
func (cs *cells) prune(now bool) {
	cs.mu.Lock()
	cs.unpruned++
	now = now || cs.unpruned >= pruneEvery
	if now {
		cs.unpruned = 0
	}
	cs.mu.Unlock()
	if !now {
		return
	}
	if err := cs.store.Prune(keptCells, keptOutput); err != nil {
		log.Printf("forget old cells: %v", err)
	}
}

// With the disk full, cells run all the same: the code may be what makes room.
// Their results say what was not saved, and the records of those that ended
// meanwhile are written when there is room again.

// maxUnsaved bounds the records that wait. Beyond it the oldest are lost: 'den
// poll' then shows what was last saved of them.
const maxUnsaved = 32

func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// notSaved says that something of a cell could not be written.
func notSaved(what string, err error) string {
	var why syscall.Errno
	if errors.As(err, &why) {
		return fmt.Sprintf("%s (%v)", what, why)
	}
	return fmt.Sprintf("%s (%v)", what, err)
}

// saveLocked writes the cell's record. That of a cell that is over waits for
// room.
func (r *running) saveLocked(rec cell.Record) error {
	cs := r.cells
	err := r.journal.Save(rec)
	if !rec.Final() {
		return err
	}
	if err == nil {
		err = cs.store.NotBefore(rec.CellID) // it could perhaps not be made the last one
	}
	if err != nil {
		if cs.unsaved = append(cs.unsaved, rec); len(cs.unsaved) > maxUnsaved {
			cs.unsaved = cs.unsaved[1:]
		}
	}
	return err
}

// saveUnsavedLocked writes the records that wait, and stops at the first that
// cannot be written.
func (cs *cells) saveUnsavedLocked() {
	for len(cs.unsaved) > 0 {
		if err := cs.store.Put(cs.unsaved[0]); err != nil {
			log.Printf("save a cell that ended while the disk was full: %v", err)
			return
		}
		cs.unsaved = cs.unsaved[1:]
	}
}

// saveUnsaved writes the records that wait, if there is room.
func (cs *cells) saveUnsaved() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.saveUnsavedLocked()
}

// lostEvents counts the events that the log could not record.
func (c *core) lostEvents() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Stats().LostEvents
}

// describeLost says that a number of events was not recorded, and why if it
// lasts.
func (c *core) describeLost(events uint64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	what := fmt.Sprintf("%d events of the session's log", events)
	if why := c.log.Stats().Paused; why != "" {
		what += " (" + why + ")"
	}
	return what
}
