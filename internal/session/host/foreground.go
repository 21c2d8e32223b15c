package host

import (
	"den/internal/process/pty"
	"den/internal/session/wire"
)

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
// wrote and no turn has handled yet counts too; recordInput checks the rest.
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
