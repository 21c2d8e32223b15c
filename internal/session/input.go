package session

import (
	"context"

	"den/internal/session/wire"
)

// Each of these changes the log, and returns the number of its event there: a
// baseline for what is waited for next.

// Input types text, pastes it, presses keys or passes bytes on.
func (s *Session) Input(ctx context.Context, in wire.Input) (uint64, error) {
	return s.callSeq(ctx, wire.MethodInput, in)
}

// InputIf is Input under conditions, which the host checks in the step that
// sends. A host that is too old to check them is fault.Protocol.
func (s *Session) InputIf(ctx context.Context, in wire.InputIf) (r wire.InputIfResult, err error) {
	err = s.call(ctx, wire.MethodInputIf, in, &r)
	return r, err
}

// Foreground tells which programs are in the terminal's foreground, and whether
// they wait for input. Where the system does not tell it is fault.Unsupported.
func (s *Session) Foreground(ctx context.Context) (f wire.Foreground, err error) {
	err = s.call(ctx, wire.MethodForeground, nil, &f)
	return f, err
}

// InputState tells what became of input. A host that is too old to tell is
// fault.Protocol.
func (s *Session) InputState(ctx context.Context) (state wire.InputState, err error) {
	err = s.call(ctx, wire.MethodInputState, nil, &state)
	return state, err
}

// Resize changes the terminal's size.
func (s *Session) Resize(ctx context.Context, cols, rows int) (uint64, error) {
	return s.callSeq(ctx, wire.MethodResize, wire.Resize{Cols: cols, Rows: rows})
}

// Signal signals the process group in the terminal's foreground; the name is
// that of the signal, such as INT.
func (s *Session) Signal(ctx context.Context, name string) (uint64, error) {
	return s.callSeq(ctx, wire.MethodSignal, wire.Signal{Signal: name})
}

// Mark puts a label into the event log.
func (s *Session) Mark(ctx context.Context, label string) (uint64, error) {
	return s.callSeq(ctx, wire.MethodMark, wire.Mark{Label: label})
}

// Notify sends a message to whoever follows the session's events.
func (s *Session) Notify(ctx context.Context, n wire.Notify) (uint64, error) {
	return s.callSeq(ctx, wire.MethodNotify, n)
}

// ClearScrollback forgets what has scrolled away. What was recorded stays.
func (s *Session) ClearScrollback(ctx context.Context) (uint64, error) {
	return s.callSeq(ctx, wire.MethodClear, nil)
}

func (s *Session) callSeq(ctx context.Context, method string, params any) (uint64, error) {
	var seq wire.Seq
	err := s.call(ctx, method, params, &seq)
	return seq.Seq, err
}
