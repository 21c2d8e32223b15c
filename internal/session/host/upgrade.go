package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"den/internal/base/fault"
	"den/internal/base/statefile"
	"den/internal/base/wake"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// A host replaces its own binary by exec. The process, its children, the
// terminal, the socket and the lock are kept; state in memory is passed through
// an anonymous file. Waiting clients are told to retry; the socket's backlog
// holds them meanwhile.

// handoverVersion is the version of the handover format. The new binary may be
// a newer den.
const handoverVersion = 1

// handover is the state that survives an upgrade.
type handover struct {
	V int `json:"v"`
	coreState
	Home       home.Home         `json:"home"`
	ID         string            `json:"id"`
	Program    int               `json:"program"`
	Position   eventlog.Position `json:"position"`
	Input      []byte            `json:"input,omitempty"`
	Screen     []byte            `json:"screen"`
	Cols       int               `json:"cols"`
	Rows       int               `json:"rows"`
	Own        wire.Resize       `json:"own"`
	SyncAlways bool              `json:"sync_always,omitempty"`
	Cells      cellsState        `json:"cells"`
	Upgrades   int               `json:"upgrades"`

	Asked bool `json:"asked,omitempty"` // a signal asked the host to end meanwhile

	TTY    int `json:"tty"` // descriptors
	Socket int `json:"socket"`
	Lock   int `json:"lock"`
	Guard  int `json:"guard,omitempty"` // where the guard is dismissed; see guard.go
}

// requestUpgrade checks the new binary and begins the upgrade. The response
// only confirms that it began: the new host reports its version in its hello.
func (h *Host) requestUpgrade(u wire.Upgrade) (wire.Upgraded, error) {
	if !filepath.IsAbs(u.Binary) {
		return wire.Upgraded{}, fault.Errorf(fault.Usage, "binary '%s' is not an absolute path", u.Binary)
	}
	fi, err := os.Stat(u.Binary)
	if err != nil {
		return wire.Upgraded{}, fault.Errorf(fault.Usage, "upgrade: %w", err)
	}
	if !fi.Mode().IsRegular() || unix.Access(u.Binary, unix.X_OK) != nil {
		return wire.Upgraded{}, fault.Errorf(fault.Usage, "upgrade: %s is not an executable file", u.Binary)
	}
	h.transition.Lock()
	defer h.transition.Unlock()
	if err := h.requireRunning(); err != nil {
		return wire.Upgraded{}, err
	}
	if !h.isUpgrading() {
		guard, err := h.startGuard() // while the session still serves
		if err != nil {
			return wire.Upgraded{}, err
		}
		h.guard, h.newBinary = guard, u.Binary
		close(h.upgrading)
	}
	return wire.Upgraded{From: h.version, Upgrades: h.upgrades}, nil
}

func (h *Host) isUpgrading() bool { return wake.IsClosed(h.upgrading) }

// cancelUpgrade reverts an upgrade that has begun, because the new binary could
// not be run or the program ended first.
func (h *Host) cancelUpgrade() error {
	h.guard.dismiss()
	h.upgrading, h.newBinary = make(chan struct{}), ""
	h.stopCells = make(chan struct{})
	if h.wasRefused() {
		h.askAgain()
	}
	if err := h.cells.resumeActive(); err != nil {
		return err
	}
	if err := h.tty.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("cancel upgrade: %w", err)
	}
	if err := h.server.listener.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("cancel upgrade: %w", err)
	}
	return nil
}

// wasRefused reports whether a signal to end arrived when the upgrade had
// begun. endOnSignal has taken it, and could not end the session.
func (h *Host) wasRefused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endedBy != ""
}

// askAgain repeats that signal, for the next endOnSignal.
func (h *Host) askAgain() {
	select {
	case h.asked <- unix.SIGTERM:
	default: // two signals are there already
	}
}

// replaceBinary executes the new binary with the host's state. It returns only
// on failure.
func (h *Host) replaceBinary() error {
	binary, file := h.newBinary, h.guard.state
	state, err := h.handover()
	if err != nil {
		return err
	}
	if state.Guard, err = descriptor(h.guard.pipe); err != nil {
		return err
	}
	if err := json.NewEncoder(file).Encode(state); err != nil {
		return fmt.Errorf("hand over state: %w", err)
	}
	fd, err := descriptor(file)
	if err != nil {
		return err
	}
	signal.Stop(h.asked) // from here on, a signal ends this process, and the guard the session: it needs the state
	defer tree.CatchAgain(h.asked)
	if len(h.asked) > 0 && !state.Asked {
		return errors.New("a signal asked the host to end first")
	}
	inherited := []int{fd, state.TTY, state.Socket, state.Lock, state.Guard}
	for _, fd := range inherited {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("hand over descriptor %d: %w", fd, err)
		}
	}
	argv := []string{"den", "host", h.manifest().Name, h.dir.ID, "--resume", strconv.Itoa(fd)}
	err = syscall.Exec(binary, argv, os.Environ())
	for _, fd := range inherited {
		unix.CloseOnExec(fd)
	}
	return fmt.Errorf("run %s: %w", binary, err)
}

// handover collects the state. All goroutines that could change it have ended.
func (h *Host) handover() (handover, error) {
	c := h.core
	cells, err := h.cells.handover()
	if err != nil {
		return handover{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushLocked()
	cols, rows := c.term.Size()
	s := handover{
		V: handoverVersion, Home: h.dir.Home, ID: h.dir.ID, Program: h.tree.Leader(),
		coreState: c.coreState, Cells: cells, Position: c.log.Position(),
		Input: h.input.rest(), Screen: c.term.Dump(), Cols: cols, Rows: rows,
		Own: h.sizes.own, SyncAlways: h.syncAlways, Upgrades: h.upgrades + 1,
		Asked: h.wasRefused() || len(h.asked) > 0,
	}
	s.Position.Elapsed = c.clock()
	for _, part := range []struct {
		fd   *int
		from syscall.Conn
	}{{&s.TTY, h.tty}, {&s.Socket, h.server.listener}, {&s.Lock, h.lock}} {
		fd, err := descriptor(part.from)
		if err != nil {
			return s, err
		}
		*part.fd = fd
	}
	return s, nil
}

// descriptor returns a file's descriptor without changing its mode, as Fd would.
func descriptor(f syscall.Conn) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("hand over: %w", err)
	}
	fd := -1
	if err := raw.Control(func(p uintptr) { fd = int(p) }); err != nil {
		return 0, fmt.Errorf("hand over: %w", err)
	}
	return fd, nil
}

// Resume is Main for a host that was started by an upgrade.
func Resume(ctx context.Context, version string, stateFD int) error {
	configureProcess()
	h, err := resume(version, stateFD)
	if err != nil {
		// The session cannot be saved: say so where somebody will look.
		log.Printf("resume after upgrade: %v", err)
		return err
	}
	return h.serve(ctx)
}

// readState reads and closes the state file.
func readState(fd int) (s handover, err error) {
	f := os.NewFile(uintptr(fd), "state")
	defer f.Close()
	if err := json.NewDecoder(io.NewSectionReader(f, 0, 1<<40)).Decode(&s); err != nil {
		return s, fmt.Errorf("read state: %w", err)
	}
	return s, statefile.Check("state", s.V, handoverVersion)
}

func resume(version string, stateFD int) (*Host, error) {
	s, err := readState(stateFD)
	if err != nil {
		return nil, err
	}
	for _, fd := range []int{s.TTY, s.Socket, s.Lock, s.Guard} {
		unix.CloseOnExec(fd)
	}
	h := newHost(s.Home.Dir(s.ID), version)
	h.asked = tree.CatchSignals()
	if s.Guard != 0 { // an older den has none
		tellGuard(os.NewFile(uintptr(s.Guard), "guard"))
	}
	h.lock = os.NewFile(uintptr(s.Lock), "lock")
	h.syncAlways, h.upgrades = s.SyncAlways, s.Upgrades
	if h.record, err = h.dir.Load(); err != nil {
		return nil, err
	}
	h.record.Cols, h.record.Rows = s.Cols, s.Rows
	if h.tty, err = pty.FromFile(os.NewFile(uintptr(s.TTY), "tty")); err != nil {
		return nil, err
	}
	if err := h.resumeCore(s); err != nil {
		return nil, err
	}
	listener, err := inheritListener(s.Socket)
	if err != nil {
		return nil, err
	}
	h.server = h.newServer(listener)
	h.adopt(s.Program)
	if len(s.Input) > 0 {
		if err := h.input.push(piece{data: s.Input}); err != nil {
			return nil, err
		}
	}
	if err := h.cells.restore(s.Cells); err != nil {
		return nil, err
	}
	if err := h.cells.resumeActive(); err != nil {
		return nil, err
	}
	if s.Asked {
		h.askAgain()
	}
	h.edit(func(m *home.Manifest) { m.Host = version })
	h.core.note(map[string]string{"upgraded": version})
	return h, nil
}

func (h *Host) resumeCore(s handover) error {
	term := newTerminal(h.record, h.version)
	term.Write(s.Screen) // never fails
	start := time.Now().Add(-s.Position.Elapsed)
	clock := func() time.Duration { return time.Since(start) }
	if err := h.open(clock, s.Position, term); err != nil {
		return err
	}
	h.core.coreState = s.coreState
	h.sizes.setOwn(s.Own)
	return nil
}

// cellsState is the state of cells that survives an upgrade.
type cellsState struct {
	Learned cell.Prompt     `json:"learned"`
	Bare    bool            `json:"bare,omitempty"`
	Shell   cell.ShellMarks `json:"shell"`
	Active  *activeState    `json:"active,omitempty"`
	Unsaved []cell.Record   `json:"unsaved,omitempty"`
}

// activeState is the active cell. Each part is encoded whole by its owner, so
// that no field has to be copied by name.
type activeState struct {
	cellLife
	cell.State
	passState
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
	PressedAt   time.Duration `json:"pressed_at,omitempty"`  // when Ctrl-C was pressed last
	Presses     int           `json:"presses,omitempty"`     // how often, for one interrupt
	HitOwn      int           `json:"hit_own,omitempty"`     // or 0: the last press hit the session's own program, in this tick
	BegunTick   int           `json:"begun_tick,omitempty"`  // Begun as processes count it
	Asked       int           `json:"asked,omitempty"`       // core's inputs at the last question
	AskedAt     int64         `json:"asked_at,omitempty"`    // the line of the last question
	AskedLeft   string        `json:"asked_left,omitempty"`  // what stood left of the cursor there
	Answered    int           `json:"answered,omitempty"`    // core's inputs at the last answer
	LostEvents  uint64        `json:"lost_events,omitempty"` // that the log had not recorded when it began
	Known       []cell.Known  `json:"known,omitempty"`       // set once: answers that the host gives
}

// handover returns the state for the next binary. The cell's goroutine has
// ended.
func (cs *cells) handover() (cellsState, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.h.core.mu.Lock()
	defer cs.h.core.mu.Unlock()
	s := cellsState{Learned: cs.learned, Bare: cs.bare, Shell: cs.h.core.shell, Unsaved: cs.unsaved}
	r := cs.active
	if r == nil {
		return s, nil
	}
	sink, err := r.pass.sink.State()
	if err != nil {
		return s, err
	}
	s.Active = &activeState{cellLife: r.life, State: r.state, passState: r.pass.passState, Sink: sink}
	if r.pass.take != nil {
		take := r.pass.take.State()
		s.Active.Take = &take
	}
	return s, nil
}

// restore takes over the active cell of the previous binary. resumeActive
// continues it.
func (cs *cells) restore(s cellsState) error {
	cs.learned, cs.bare, cs.h.core.shell, cs.unsaved = s.Learned, s.Bare, s.Shell, s.Unsaved
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
	pass := &cellPass{passState: a.passState, sink: sink, moved: wake.New()}
	if a.Take != nil {
		pass.take = cell.ResumeCollector(sink, *a.Take)
	}
	cs.active = &running{cells: cs, id: id, pass: pass, state: a.State, life: a.cellLife, journal: journal, changed: make(chan struct{}), released: wake.New()}
	return nil
}

// resumeActive continues the active cell, if there is one, in this binary.
func (cs *cells) resumeActive() error {
	r := cs.active
	if r == nil {
		return nil
	}
	if r.life.Sent && cs.hook != "" {
		hook, err := startHook(cs.hook, "", cursorPlace(cs.h.core.term)) // it sees what comes from now on
		if err != nil {
			return err
		}
		r.pass.hook = hook
	}
	if r.life.Sent {
		cs.h.core.cell = r.pass
	}
	r.armPatience()
	cs.work.Go(r.drive)
	return nil
}
