package host

import (
	"time"

	"den/internal/cell"
	"den/internal/vt"
)

// cellsState is the cells' part of what crosses an exec.
type cellsState struct {
	Learned promptState  `json:"learned"`
	Shell   shellState   `json:"shell"`
	Active  *activeState `json:"active,omitempty"`
}

type promptState struct {
	Text string `json:"text"`
	Col  int    `json:"col"`
}

type shellState struct {
	Token   string  `json:"token"`
	Silent  bool    `json:"silent,omitempty"`
	Last    byte    `json:"last"`
	Ends    int     `json:"ends"`
	Start   vt.Mark `json:"start"`
	End     vt.Mark `json:"end"`
	Exit    int     `json:"exit"`
	Began   bool    `json:"began"`
	Prompt  int64   `json:"prompt"`
	Shown   string  `json:"shown,omitempty"`
	Refused bool    `json:"refused,omitempty"`
}

// activeState is a cell that runs.
type activeState struct {
	Record  cell.Record          `json:"record"`
	Begun   time.Duration        `json:"begun"`
	Lines   []string             `json:"lines,omitempty"`
	Typed   string               `json:"typed"`
	Sent    bool                 `json:"sent"`
	ByShell bool                 `json:"by_shell"`
	SentSeq uint64               `json:"sent_seq"`
	Prompt  promptState          `json:"prompt"`
	Late    bool                 `json:"late"`
	Pressed bool                 `json:"pressed"`
	Ends    int                  `json:"ends"`
	Over    bool                 `json:"over"`
	Sink    cell.SinkState       `json:"sink"`
	Take    *cell.CollectorState `json:"take,omitempty"`
}

// stateLocked returns what the next binary needs; core.mu is held, and the
// cell's goroutine has ended.
func (cs *cells) stateLocked() (cellsState, error) {
	sh := cs.h.core.shell
	s := cellsState{
		Learned: promptState{cs.learned.text, cs.learned.col},
		Shell:   shellState{sh.token, sh.silent, sh.last, sh.ends, sh.start, sh.end, sh.exit, sh.began, sh.prompt, sh.shown, sh.refused},
	}
	r := cs.active
	if r == nil {
		return s, nil
	}
	sink, err := r.turn.sink.State()
	if err != nil {
		return s, err
	}
	s.Active = &activeState{
		Record: r.record, Begun: r.begun, Lines: r.lines, Typed: r.typed, Sent: r.sent, ByShell: r.byShell, SentSeq: r.sentSeq,
		Prompt: promptState{r.prompt.text, r.prompt.col}, Late: r.late, Pressed: r.pressed, Ends: r.turn.ends, Over: r.turn.over, Sink: sink,
	}
	if r.turn.take != nil {
		take := r.turn.take.State()
		s.Active.Take = &take
	}
	return s, nil
}

// resume goes on with the cell of the binary before this one.
func (cs *cells) resume(s cellsState) error {
	cs.learned = prompt{s.Learned.Text, s.Learned.Col}
	sh := s.Shell
	c := cs.h.core
	c.shell = shellMarks{sh.Token, sh.Silent, sh.Last, sh.Ends, sh.Start, sh.End, sh.Exit, sh.Began, sh.Prompt, sh.Shown, sh.Refused}
	a := s.Active
	if a == nil {
		return nil
	}
	sink, err := cell.ResumeSink(cs.store.OutputPath(a.Record.CellID), a.Sink)
	if err != nil {
		return err
	}
	turn := &cellTurn{sink: sink, ends: a.Ends, over: a.Over, moved: make(chan struct{}, 1)}
	if a.Take != nil {
		turn.take = cell.ResumeCollector(sink, *a.Take)
	}
	journal, err := cs.store.GoOn(a.Record.CellID)
	if err != nil {
		return err
	}
	cs.active = &running{
		cells: cs, id: a.Record.CellID, code: a.Record.Code, begun: a.Begun, turn: turn, lines: a.Lines, typed: a.Typed, sent: a.Sent, byShell: a.ByShell, sentSeq: a.SentSeq,
		prompt: prompt{a.Prompt.Text, a.Prompt.Col}, record: a.Record, journal: journal, late: a.Late, pressed: a.Pressed, changed: make(chan struct{}),
	}
	if a.Sent && cs.hook != "" {
		hook, err := startHook(cs.hook) // it sees what comes from now on
		if err != nil {
			return err
		}
		turn.hook = hook
	}
	if a.Sent {
		c.cell = turn
	}
	cs.goOn()
	return nil
}

// goOn drives the active cell, if there is one, in this binary.
func (cs *cells) goOn() {
	if cs.active != nil {
		cs.work.Go(cs.active.drive)
	}
}
