package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/process/pty"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/wire"

	"golang.org/x/sys/unix"
)

// handle answers one request.
func (h *Host) handle(ctx context.Context, c *rpc.Call) (any, error) {
	h.core.rest.Note() // answering needs memory too
	req := c.Request
	switch req.Method {
	case wire.MethodAttach:
		return h.attach(ctx, c)
	case wire.MethodLog:
		return h.streamLog(ctx, c)
	case wire.MethodStatus:
		return h.status(), nil
	case wire.MethodInput:
		return call(req, h.typeFor)
	case wire.MethodInputIf:
		return call(req, h.typeIf)
	case wire.MethodInputState:
		return h.inputState()
	case wire.MethodForeground:
		return h.foreground()
	case wire.MethodResize:
		return call(req, h.resize)
	case wire.MethodSignal:
		return call(req, h.signal)
	case wire.MethodMark:
		return call(req, h.mark)
	case wire.MethodWait:
		return call(req, func(w wire.Wait) (*wire.WaitResult, error) { return h.wait(ctx, w) })
	case wire.MethodSnapshot:
		return call(req, func(s wire.SnapshotRequest) (any, error) {
			if s.Plain {
				return h.plainSnapshot(ctx)
			}
			return h.snapshot(ctx, s.Scrollback)
		})
	case wire.MethodKill:
		return call(req, func(k wire.Kill) (wire.Killed, error) { return h.kill(k.Grace) })
	case wire.MethodRun:
		return call(req, func(r wire.Run) (cell.Result, error) { return h.cells.run(ctx, r) })
	case wire.MethodRunKnowing:
		return call(req, func(r wire.RunKnowing) (cell.Result, error) { return h.cells.runKnowing(ctx, r) })
	case wire.MethodAnswer:
		return call(req, func(a wire.Answer) (cell.Result, error) { return h.cells.answer(ctx, a) })
	case wire.MethodInt:
		return call(req, func(i wire.Interrupt) (cell.Result, error) { return h.cells.interrupt(ctx, i) })
	case wire.MethodMarks:
		return wire.Marks{Token: h.core.marksToken()}, h.requireRunning()
	case wire.MethodBringMarks:
		return call(req, func(m wire.BringMarks) (cell.Result, error) { return h.cells.bringMarks(ctx, m) })
	case wire.MethodRelease:
		return h.cells.release(ctx)
	case wire.MethodNotify:
		return call(req, h.notify)
	case wire.MethodClear:
		return h.clearScrollback()
	case wire.MethodUpgrade:
		return call(req, h.requestUpgrade)
	}
	return nil, fault.Hintf(fault.Errorf(fault.Protocol, "the host does not know the method %q", req.Method), "'den host upgrade' brings an older host up to date")
}

// call decodes a request's parameters and calls f with them.
func call[P, R any](req rpc.Request, f func(P) (R, error)) (any, error) {
	var params P
	if err := req.Decode(&params); err != nil {
		return nil, err
	}
	return f(params)
}

// typeFor types for a caller: it logs input and queues it for the program. When
// the program reads it is unknown: see coreState.Foreign. A question that the
// active cell was asking counts as answered.
func (h *Host) typeFor(in wire.Input) (wire.Seq, error) {
	seq, err := h.typeIn(in, typist{foreign: true})
	if r := h.cells.current(); r != nil && err == nil {
		r.noteAnswer(h.core.inputs())
	}
	return seq, err
}

// typist describes the source of an input.
type typist struct {
	foreign bool // no cell, which would watch what becomes of it
	clears  bool // a cell that discards what stands in the shell's input
	brisk   bool // into a plain line editor, which takes the next key as soon as it has read the last

	question *string // refuse if the program does not ask this any more; or nil
	above    bool    // it may stand above the cursor

	after   *uint64       // refuse if there was output after this event; or nil
	program *wire.Program // refuse unless it is in the foreground; or nil

	emptyLine bool // refuse if something stands in the input line
	unread    bool // the program has not read all of its input; only known for emptyLine
}

// typeIn is typeFor for any source.
func (h *Host) typeIn(in wire.Input, by typist) (wire.Seq, error) {
	r, err := h.send([]wire.Input{in}, by)
	return wire.Seq{Seq: r.Seq}, err
}

// send logs inputs and queues them for the program, all or none.
func (h *Host) send(ins []wire.Input, by typist) (wire.InputIfResult, error) {
	h.typing.Lock() // what the log says came first is written first
	defer h.typing.Unlock()
	return h.sendLocked(ins, by)
}

// sendLocked is send for a caller who holds typing.
func (h *Host) sendLocked(ins []wire.Input, by typist) (wire.InputIfResult, error) {
	if err := h.requireRunning(); err != nil {
		return wire.InputIfResult{}, err
	}
	pieces, recorded, err := encodeAll(ins, h.core.modes())
	if err != nil {
		return wire.InputIfResult{}, err
	}
	mode := ttyMode{canonical: true} // if it cannot be asked: rather keep less than a password
	if echo, canonical, err := h.tty.Echo(); err == nil {
		mode = ttyMode{echo, canonical}
	}
	if err := h.input.announce(len(recorded)); err != nil {
		return wire.InputIfResult{}, err
	}
	defer h.input.announced()
	if by.emptyLine {
		unread, err := h.unreadLocked()
		if err != nil {
			return wire.InputIfResult{}, err
		}
		by.unread = unread > 0
	}
	if refused := h.refuses(by); refused != "" {
		return wire.InputIfResult{Seq: h.core.position().Seq, Refused: refused}, nil
	}
	seq, refused := h.core.recordInput(h.manifest().RecordInput, mode, recorded, by)
	if refused != "" {
		return wire.InputIfResult{Seq: seq, Refused: refused}, nil
	}
	for i := range pieces {
		pieces[i].brisk = by.brisk
	}
	return wire.InputIfResult{Seq: seq}, h.input.push(pieces...)
}

// resize sets the size that a caller asks for; attached terminals may override
// it later.
func (h *Host) resize(r wire.Resize) (wire.Seq, error) {
	if err := h.requireRunning(); err != nil {
		return wire.Seq{}, err
	}
	if err := CheckSize(r.Cols, r.Rows); err != nil {
		return wire.Seq{}, err
	}
	h.sizes.setOwn(r)
	return wire.Seq{Seq: h.applySize(r)}, nil
}

// CheckSize returns an error for a size that no program can use.
func CheckSize(cols, rows int) error {
	if cols < 1 || rows < 1 || cols > vt.MaxCols || rows > vt.MaxRows {
		return fault.Errorf(fault.Usage, "size %dx%d: columns go from 1 to %d, rows from 1 to %d", cols, rows, vt.MaxCols, vt.MaxRows)
	}
	return nil
}

// sizeOf is a terminal's size with the cells that the emulator says it has.
func sizeOf(cols, rows int) pty.Size {
	return pty.Size{Cols: cols, Rows: rows, Width: cols * vt.CellWidth, Height: rows * vt.CellHeight}
}

// applySize resizes the emulator and the PTY together, unless they have this
// size already. Concurrent calls take turns.
func (h *Host) applySize(r wire.Resize) uint64 {
	h.resizing.Lock()
	defer h.resizing.Unlock()
	if cols, rows := h.core.size(); cols == r.Cols && rows == r.Rows {
		return h.core.position().Seq
	}
	seq, replies := h.core.resize(r.Cols, r.Rows)
	if err := h.tty.Resize(sizeOf(r.Cols, r.Rows)); err != nil {
		h.core.note(map[string]string{"error": "resize: " + err.Error()})
	}
	if replies {
		h.settleReplies()
	}
	h.edit(func(m *sessionManifest) { m.Cols, m.Rows = r.Cols, r.Rows })
	return seq
}

// signal sends a signal to the foreground process group, as a key would, not
// to the shell.
func (h *Host) signal(s wire.Signal) (wire.Seq, error) {
	if err := h.requireRunning(); err != nil {
		return wire.Seq{}, err
	}
	sig, err := ParseSignal(s.Signal)
	if err != nil {
		return wire.Seq{}, err
	}
	seq := h.core.append(eventlog.Signal, []byte(unix.SignalName(sig)))
	toShell := h.core.shellReads()
	_, err = h.tty.Signal(sig)
	h.core.noteSignal(toShell) // when it is sent: the program was idle before
	if err != nil {
		return wire.Seq{}, err
	}
	return wire.Seq{Seq: seq}, nil
}

// ParseSignal parses a signal's name: INT, SIGINT or sigint.
func ParseSignal(name string) (syscall.Signal, error) {
	full := strings.ToUpper(name)
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	if sig := unix.SignalNum(full); sig != 0 {
		return sig, nil
	}
	return 0, fault.Hintf(fault.Errorf(fault.Usage, "no signal '%s'", name), "use a name such as INT, TERM, HUP, USR1 or KILL")
}

// notify logs a message for the followers of the session's events.
func (h *Host) notify(n wire.Notify) (wire.Seq, error) {
	if err := h.requireRunning(); err != nil {
		return wire.Seq{}, err
	}
	raw, err := json.Marshal(map[string]wire.Notify{"notify": n})
	if err != nil {
		return wire.Seq{}, err
	}
	return wire.Seq{Seq: h.core.append(eventlog.Note, raw)}, nil
}

// clearScrollback empties the scrollback without notifying the program.
func (h *Host) clearScrollback() (wire.Seq, error) {
	if err := h.requireRunning(); err != nil {
		return wire.Seq{}, err
	}
	return wire.Seq{Seq: h.core.clearScrollback()}, nil
}

// mark puts a label into the log.
func (h *Host) mark(m wire.Mark) (wire.Seq, error) {
	if err := h.requireRunning(); err != nil {
		return wire.Seq{}, err
	}
	return wire.Seq{Seq: h.core.append(eventlog.Mark, []byte(m.Label))}, nil
}

// foreground returns which programs are in the terminal's foreground, and
// whether they wait for input.
func (h *Host) foreground() (wire.Foreground, error) {
	if err := h.requireRunning(); err != nil {
		return wire.Foreground{}, err
	}
	f := wire.Foreground{PID: h.manifest().PID, Seq: h.core.position().Seq}
	group, programs, err := h.tty.Foreground()
	if err != nil {
		return wire.Foreground{}, err
	}
	f.Group = group
	for _, p := range programs {
		f.Programs = append(f.Programs, wire.Program{PID: p.PID, Started: p.Started, Parent: p.Parent, Name: p.Name, Argv: p.Argv})
	}
	probe := h.tty.Probe()
	f.Ready = readiness(probe)
	if probe.State == pty.Ready && h.tty.OutputPending() {
		f.Ready.State = string(pty.Busy) // for whoever reads its output
	}
	if probe.State != pty.Busy {
		f.Reader = probe.PID
	}
	return f, nil
}

// typeIf types for a caller who has said under which conditions.
func (h *Host) typeIf(in wire.InputIf) (wire.InputIfResult, error) {
	r, err := h.send(in.Inputs, typist{foreign: true, after: in.After, program: in.Program, emptyLine: in.EmptyLine})
	if c := h.cells.current(); c != nil && err == nil && r.Refused == "" {
		c.noteAnswer(h.core.inputs())
	}
	return r, err
}

// refuses returns why input must not be sent, or "". Output that the program
// wrote and no pass has handled yet counts too; recordInput checks the rest.
func (h *Host) refuses(by typist) string {
	if by.program != nil && !h.inForeground(*by.program) {
		return wire.RefusedProgram
	}
	if by.after != nil && h.tty.OutputPending() {
		return wire.RefusedOutput
	}
	return ""
}

// inForeground reports whether a process is in the foreground and still runs
// the same program.
func (h *Host) inForeground(want wire.Program) bool {
	_, programs, err := h.tty.Foreground()
	if err != nil {
		return false // could not ask: the caller wants to be sure
	}
	for _, p := range programs {
		if p.PID == want.PID && p.Started == want.Started && p.Name == want.Name {
			return true
		}
	}
	return false
}

// server serves the session's socket. The listener survives an upgrade.
type server struct {
	*rpc.Server
	listener *net.UnixListener
}

// newServer serves the session on the listener.
func (h *Host) newServer(l *net.UnixListener) *server {
	return &server{listener: l, Server: rpc.NewServer(rpc.Config{
		Version: wire.Version, Den: h.version, ID: h.dir.ID,
		Kind: "host", Name: fmt.Sprintf("session '%s'", h.manifest().Name),
		Handler: h.handle,
		Urgent:  func(method string) bool { return method == wire.MethodKill },
	})}
}

// inheritListener returns the listener of the previous binary.
func inheritListener(fd int) (*net.UnixListener, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close() // Best effort: FileListener works on a copy.
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over socket: %w", err)
	}
	unixListener, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("take over socket: it is a %T", l)
	}
	unixListener.SetUnlinkOnClose(true)
	return unixListener, nil
}

// stopServing disconnects the clients. The socket file stays if another binary
// takes over.
func (h *Host) stopServing() {
	if h.isUpgrading() {
		h.server.listener.SetDeadline(time.Now()) // Best effort: exec closes it at the latest.
		return
	}
	h.server.listener.Close() // Best effort; it also removes the file.
}

// status returns everything known about the running session.
func (h *Host) status() wire.Status {
	s := h.core.status()
	m := h.manifest()
	s.Session, s.ID, s.Status = m.Name, m.ID, string(m.Status)
	s.Command, s.Cwd, s.Term, s.Labels = m.Command, m.Cwd, m.Term, m.Labels
	s.PID, s.HostPID, s.HostVersion = m.PID, m.HostPID, h.version
	s.Upgrades = h.upgrades
	s.Created, s.RecordInput = m.Created, m.RecordInput
	if !s.LastOutputTime.IsZero() {
		s.LastOutput = &s.LastOutputTime
	}
	probe := h.tty.Probe()
	ready := readiness(probe)
	s.Ready = &ready
	if probe.PID > 0 { // the very process, where the kernel told
		s.Foreground = &wire.Process{PID: probe.PID, Command: probe.Command}
	} else if pgid, err := h.tty.ForegroundGroup(); err == nil && pgid > 0 {
		s.Foreground = &wire.Process{PID: pgid, Command: pty.CommandLine(pgid)}
	}
	s.Clients, s.Attached = h.server.Clients(), h.sizes.count()
	s.LastTyped = h.sizes.lastTyped()
	return s
}

func readiness(probe pty.Readiness) wire.Readiness {
	return wire.Readiness{State: string(probe.State), Why: probe.Why, Outside: probe.Outside}
}

func (c *core) status() wire.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	cols, rows := c.term.Size()
	modes := c.term.Modes()
	s := wire.Status{
		Cols: cols, Rows: rows,
		Title: c.term.Title(), AltScreen: modes.AltScreen,
		Seq:        c.log.Position().Seq,
		ScreenHash: screen.Hash(screen.Text(c.term)),
		Log:        logStatus(c.log.Stats()),
	}
	if c.OutputSeq > 0 {
		s.LastOutputTime = time.Now().Add(c.LastOutput - c.clock()).UTC()
	}
	return s
}

func logStatus(s eventlog.Stats) wire.LogStatus {
	return wire.LogStatus{
		Bytes: s.Bytes, Segments: s.Segments, FirstSeq: s.FirstSeq,
		DroppedSegments: s.DroppedSegments, DroppedBytes: s.DroppedBytes,
		Paused: s.Paused, LostEvents: s.LostEvents, LostBytes: s.LostBytes,
	}
}
