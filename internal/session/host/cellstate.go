package host

import (
	"time"

	"den/internal/session/cell"
)

// cellsState is the state of cells that survives an upgrade.
type cellsState struct {
	Learned cell.Prompt     `json:"learned"`
	Shell   cell.ShellMarks `json:"shell"`
	Active  *activeState    `json:"active,omitempty"`
	Unsaved []cell.Record   `json:"unsaved,omitempty"`
}

// activeState is the active cell. Each part is encoded whole by its owner, so
// that no field has to be copied by name.
type activeState struct {
	cellLife
	cell.State
	turnState
	Sink cell.SinkState       `json:"sink"`
	Take *cell.CollectorState `json:"take,omitempty"`
}

// cellLife is the part of an active cell that its callers see. cells.mu guards
// it.
type cellLife struct {
	Record      cell.Record   `json:"record"`
	Begun       time.Duration `json:"begun"`             // set once
	LateAt      time.Duration `json:"late_at,omitempty"` // or 0: when a fired cell is late
	Late        bool          `json:"late"`              // its caller stopped waiting
	Sent        bool          `json:"sent"`              // the code, or its first line
	Pressed     bool          `json:"pressed"`           // somebody interrupts it
	Interrupted bool          `json:"interrupted,omitempty"`
	Asked       int           `json:"asked,omitempty"`       // core's inputs at the last question
	AskedAt     int64         `json:"asked_at,omitempty"`    // the line of the last question
	Answered    int           `json:"answered,omitempty"`    // core's inputs at the last answer
	LostEvents  uint64        `json:"lost_events,omitempty"` // that the log had not recorded when it began
}

// handover returns the state for the next binary. The cell's goroutine has
// ended.
func (cs *cells) handover() (cellsState, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.h.core.mu.Lock()
	defer cs.h.core.mu.Unlock()
	s := cellsState{Learned: cs.learned, Shell: cs.h.core.shell, Unsaved: cs.unsaved}
	r := cs.active
	if r == nil {
		return s, nil
	}
	sink, err := r.turn.sink.State()
	if err != nil {
		return s, err
	}
	s.Active = &activeState{cellLife: r.life, State: r.state, turnState: r.turn.turnState, Sink: sink}
	if r.turn.take != nil {
		take := r.turn.take.State()
		s.Active.Take = &take
	}
	return s, nil
}

// restore takes over the active cell of the previous binary. resumeActive
// continues it.
func (cs *cells) restore(s cellsState) error {
	cs.learned, cs.h.core.shell, cs.unsaved = s.Learned, s.Shell, s.Unsaved
	a := s.Active
	if a == nil {
		return nil
	}
	if a.Learned == (cell.Prompt{}) { // an older den kept it for all cells
		a.Learned = s.Learned
	}
	id := a.Record.CellID
	sink, err := cell.ResumeSink(cs.store.OutputPath(id), a.Sink)
	if err != nil {
		return err
	}
	journal, err := cs.store.Reopen(id)
	if err != nil {
		return err
	}
	turn := &cellTurn{turnState: a.turnState, sink: sink, moved: make(chan struct{}, 1)}
	if a.Take != nil {
		turn.take = cell.ResumeCollector(sink, *a.Take)
	}
	cs.active = &running{cells: cs, id: id, turn: turn, state: a.State, life: a.cellLife, journal: journal, changed: make(chan struct{}), released: make(chan struct{}, 1)}
	return nil
}

// resumeActive continues the active cell, if there is one, in this binary.
func (cs *cells) resumeActive() error {
	r := cs.active
	if r == nil {
		return nil
	}
	if r.life.Sent && cs.hook != "" {
		hook, err := startHook(cs.hook, "") // it sees what comes from now on
		if err != nil {
			return err
		}
		r.turn.hook = hook
	}
	if r.life.Sent {
		cs.h.core.cell = r.turn
	}
	r.armPatience()
	cs.work.Go(r.drive)
	return nil
}
