// Package wire holds the messages of a session host's socket; it has no
// behaviour of its own. How they travel is internal/base/rpc's.
package wire

import (
	"time"

	"den/internal/screen"
)

// Version is the protocol spoken by this build. It changes when an old peer
// would misunderstand a new one; added fields and methods do not change it.
const Version = 1

// The methods of a session host.
const (
	MethodStatus   = "status"
	MethodInput    = "input"
	MethodResize   = "resize"
	MethodSignal   = "signal"
	MethodMark     = "mark"
	MethodWait     = "wait"
	MethodSnapshot = "snapshot"
	MethodAttach   = "attach"
	MethodKill     = "kill"
	MethodUpgrade  = "upgrade"
	MethodRun      = "run"
	MethodAnswer   = "answer"
	MethodInt      = "int"
	MethodRelease  = "release"
	MethodMarks    = "marks" // an older client's way to bring them
	MethodNotify   = "notify"
	MethodClear    = "clear" // the scrollback
	// MethodBringMarks brings marks into a shell inside the session's program.
	MethodBringMarks = "bring_marks"
	// MethodInputState asks what became of input.
	MethodInputState = "input_state"
	// MethodForeground asks which programs are in the terminal's foreground.
	MethodForeground = "foreground"
	// MethodInputIf sends input under conditions. It is a method of its own, so
	// that a host which does not know them refuses it.
	MethodInputIf = "input_if"
	// MethodRunKnowing is MethodRun with answers that the host gives. It is a method
	// of its own for the same reason.
	MethodRunKnowing = "run_knowing"
)

// Input is text, a paste or chords for the program. One of the three is set.
type Input struct {
	Text  *string  `json:"text,omitempty"`
	Enter bool     `json:"enter,omitempty"` // after Text or Paste
	Paste *string  `json:"paste,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	// Raw is bytes of a person's terminal, passed on as they are.
	Raw []byte `json:"raw,omitempty"`
}

// InputIf is input that is sent only while its conditions hold: the host checks
// them and sends in one step.
type InputIf struct {
	Inputs []Input `json:"inputs"` // in order, all or none
	// After, when set, is the last event that the caller has seen: if the
	// program printed anything later, nothing is sent.
	After *uint64 `json:"after,omitempty"`
	// Program, when set, must be in the terminal's foreground.
	Program *Program `json:"program,omitempty"`
	// EmptyLine says that nothing may stand in the input line: see InputState.
	EmptyLine bool `json:"empty_line,omitempty"`
}

// InputIfResult says whether the input was sent.
type InputIfResult struct {
	Seq uint64 `json:"seq"` // of the input; of the last output, if that was the reason to refuse it
	// Refused says why nothing was sent: RefusedOutput, RefusedProgram or
	// RefusedLine. It is empty if all was sent.
	Refused string `json:"refused,omitempty"`
}

// The values of InputIfResult.Refused.
const (
	RefusedOutput = "output" // the program printed something after After
	// RefusedQuestion is for the host itself: the program asks another question.
	RefusedQuestion = "question"
	RefusedProgram  = "program" // Program is not in the foreground, or no longer
	RefusedLine     = "line"    // something stands in the input line, or may
)

// Program is one process of the terminal's foreground group.
type Program struct {
	PID     int      `json:"pid"`
	Started int      `json:"started"` // with PID it names one process for ever
	Parent  int      `json:"parent,omitempty"`
	Name    string   `json:"name"` // by which the kernel knows it, at most 15 bytes
	Argv    []string `json:"argv,omitempty"`
}

// Foreground is what runs in the terminal's foreground.
type Foreground struct {
	PID      int       `json:"pid"` // of the session's own program, whatever is in the foreground
	Group    int       `json:"group"`
	Programs []Program `json:"programs,omitempty"`
	// Reader is the process that waits for the terminal, or 0 where none does
	// or the kernel does not tell.
	Reader int       `json:"reader,omitempty"`
	Ready  Readiness `json:"ready"`
	Seq    uint64    `json:"seq"` // of the log's last event before the look
}

// InputState is what is known of the terminal's input.
type InputState struct {
	Unread     int    `json:"unread"`    // bytes that were sent and not read; in line mode those of complete lines
	LineMode   bool   `json:"line_mode"` // the terminal hands over whole lines
	Echo       bool   `json:"echo"`
	Unfinished string `json:"unfinished,omitempty"` // what was typed into the line and not ended by Enter
	// Unsure says that the line may hold something else or more: keys were
	// pressed whose effect is not known.
	Unsure    bool   `json:"unsure,omitempty"`
	CursorRow string `json:"cursor_row,omitempty"` // the text left of the cursor
}

// Resize is a new size of the terminal.
type Resize struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// Signal names a signal for the foreground process group.
type Signal struct {
	Signal string `json:"signal"`
}

// Mark puts a label into the log.
type Mark struct {
	Label string `json:"label"`
}

// Seq answers what changed the log.
type Seq struct {
	Seq uint64 `json:"seq"`
}

// SnapshotRequest asks for the screen.
type SnapshotRequest struct {
	Scrollback int `json:"scrollback,omitempty"` // lines above the screen; -1: all
	// Plain asks for a PlainSnapshot. An earlier host answers with a Snapshot,
	// which has all of it.
	Plain bool `json:"plain,omitempty"`
}

// PlainSnapshot is a Snapshot without styles and images.
type PlainSnapshot struct {
	Seq    uint64       `json:"seq"`
	Screen screen.Plain `json:"screen"`
	Frozen bool         `json:"frozen,omitempty"` // as in Snapshot
}

// Snapshot is the screen at a point of the log.
type Snapshot struct {
	Seq    uint64          `json:"seq"`
	Screen screen.Snapshot `json:"screen"`
	// Frozen is set by clients: the host does not answer, and this is the last
	// recorded screen.
	Frozen bool `json:"frozen,omitempty"`
}

// Plain returns the snapshot without styles and images.
func (s *Snapshot) Plain() PlainSnapshot {
	return PlainSnapshot{Seq: s.Seq, Screen: s.Screen.Plain, Frozen: s.Frozen}
}

// Attach joins a person's terminal to a session.
type Attach struct {
	Cols     int  `json:"cols"`
	Rows     int  `json:"rows"`
	ReadOnly bool `json:"read_only,omitempty"`
}

// Frame is one part of the attach stream.
type Frame struct {
	// Repaint, when set, replaces all that came before: a fresh emulator of
	// this size that is fed these bytes shows the screen.
	Repaint bool   `json:"repaint,omitempty"`
	Cols    int    `json:"cols,omitempty"`
	Rows    int    `json:"rows,omitempty"`
	Data    []byte `json:"data,omitempty"`
	Seq     uint64 `json:"seq"`
	// Inputs counts what was taken of the client's input: what it sent beyond
	// that when the host replaced its binary must be sent again.
	Inputs int `json:"inputs,omitempty"`
	// Exited, on the last frame, says how the program ended.
	Exited *Exit `json:"exited,omitempty"`
	// Upgrade, on the last frame, says that the host replaces its binary.
	Upgrade bool `json:"upgrade,omitempty"`
}

// Exit says how a program ended.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// Kill ends the session and all its processes.
type Kill struct {
	Grace time.Duration `json:"grace_ns"`
}

// Killed says how that went.
type Killed struct {
	Status string `json:"status"`
	Killed int    `json:"killed"` // processes that had to be killed
	// MayHaveSurvivors is that a process which hides its origin could not have
	// been found: the host was gone, and there was no cgroup.
	MayHaveSurvivors bool `json:"may_have_survivors,omitempty"`
}

// Upgrade makes the host replace itself.
type Upgrade struct {
	Binary string `json:"binary"`
}

// Status is all that is known of a session.
type Status struct {
	Session    string            `json:"session"`
	ID         string            `json:"id"`
	Status     string            `json:"status"`
	Failure    string            `json:"failure,omitempty"`
	Command    []string          `json:"command"`
	Cwd        string            `json:"cwd"`
	Term       string            `json:"term"`
	Labels     map[string]string `json:"labels,omitempty"`
	Cols       int               `json:"cols"`
	Rows       int               `json:"rows"`
	Title      string            `json:"title"`
	AltScreen  bool              `json:"alt_screen"`
	Foreground *Process          `json:"foreground,omitempty"`
	Ready      *Readiness        `json:"ready,omitempty"`

	PID         int        `json:"pid,omitempty"`
	HostPID     int        `json:"host_pid,omitempty"`
	HostVersion string     `json:"host_version,omitempty"`
	Upgrades    int        `json:"upgrades,omitempty"` // how often the host replaced its binary
	Home        string     `json:"home,omitempty"`
	Created     time.Time  `json:"created"`
	Ended       *time.Time `json:"ended,omitempty"`
	LastOutput  *time.Time `json:"last_output,omitempty"`
	// LeftRunning is how many processes the dead host of a lost session left.
	LeftRunning int    `json:"left_running,omitempty"`
	ExitCode    *int   `json:"exit_code,omitempty"`
	ExitSignal  string `json:"exit_signal,omitempty"`

	Seq         uint64    `json:"seq"`
	ScreenHash  string    `json:"screen_hash"`
	RecordInput string    `json:"record_input"`
	Log         LogStatus `json:"log"`
	Clients     int       `json:"clients"`
	Attached    int       `json:"attached"`
	// LastTyped is when somebody attached last pressed a key.
	LastTyped *time.Time `json:"last_typed,omitempty"`

	LastOutputTime time.Time `json:"-"`
}

// Process is one program that runs.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// Readiness says whether the program waits for input, and how that is known.
type Readiness struct {
	State string `json:"state"` // ready, busy or unknown
	Why   string `json:"why"`
	// Outside qualifies busy: it waits for something from outside that may never
	// come, as a server does.
	Outside bool `json:"outside,omitempty"`
}

// LogStatus is how the recording goes.
type LogStatus struct {
	Bytes           int64  `json:"bytes"`
	Segments        int    `json:"segments"`
	FirstSeq        uint64 `json:"first_seq"`
	DroppedSegments int    `json:"dropped_segments,omitempty"`
	DroppedBytes    int64  `json:"dropped_bytes,omitempty"`
	Paused          string `json:"paused,omitempty"` // why nothing is recorded now
	LostEvents      uint64 `json:"lost_events,omitempty"`
	LostBytes       int64  `json:"lost_bytes,omitempty"`
}

// Upgraded says that the host is about to replace itself.
type Upgraded struct {
	From     string `json:"from"`
	Upgrades int    `json:"upgrades"` // before this one
}

// Run gives code to the program. The answer is a cell's result.
type Run struct {
	Code string `json:"code"`
	// Cell, when set, is a cell to go on waiting for; Code is not sent.
	Cell    string        `json:"cell_id,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0: no end
	// Fire answers as soon as the cell exists. With Cell it answers at once, with
	// the output so far.
	Fire bool `json:"fire,omitempty"`
	// KeepWaiting does not answer when the program asks something.
	KeepWaiting bool `json:"keep_waiting,omitempty"`
	// MaxLines and MaxBytes, when not 0, say how much output the caller will show.
	// Of more the host keeps all in the file that the answer names.
	MaxLines int `json:"max_lines,omitempty"`
	MaxBytes int `json:"max_bytes,omitempty"`
}

// RunKnowing is a Run to which some answers are known before. The host gives them
// to the questions that match.
type RunKnowing struct {
	Run
	Known []Known `json:"known"`
}

// Known is an answer to questions that match.
type Known struct {
	Name    string `json:"name"`    // by which the result tells that it was given
	Pattern string `json:"pattern"` // a regular expression
	Text    string `json:"text"`
	// Secret keeps it from where the terminal would show it, and from a menu.
	Secret bool `json:"secret,omitempty"`
}

// Answer is input for the active cell, which asks something. The result is that
// of Run.
type Answer struct {
	Input Input `json:"input"`
	// Question, when not empty, is the question that is answered: nothing is typed
	// if the cell asks another one by now.
	Question    string        `json:"question,omitempty"`
	Timeout     time.Duration `json:"timeout_ns,omitempty"` // 0: no end
	KeepWaiting bool          `json:"keep_waiting,omitempty"`
	MaxLines    int           `json:"max_lines,omitempty"` // as of Run
	MaxBytes    int           `json:"max_bytes,omitempty"`
	// Hidden types nothing where the terminal shows what is typed.
	Hidden bool `json:"hidden,omitempty"`
	// Fire answers as soon as the input is typed.
	Fire bool `json:"fire,omitempty"`
}

// Interrupt presses Ctrl-C and waits for the cell's end.
type Interrupt struct {
	Timeout  time.Duration `json:"timeout_ns,omitempty"` // 0: five seconds
	MaxLines int           `json:"max_lines,omitempty"`  // as of Run
	MaxBytes int           `json:"max_bytes,omitempty"`
}

// Released says which cell was ended, and what still runs in the foreground.
type Released struct {
	CellID  string `json:"cell_id"`
	Status  string `json:"status"`
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	State   string `json:"state"` // as that of the foreground in Status
	Why     string `json:"why,omitempty"`
}

// Marks has the token of the session's shell marks.
type Marks struct {
	Token string `json:"token"`
}

// BringMarks has the shell that reads the terminal now print marks. The result is
// that of Run: the cell is done, by the shell, where it does.
type BringMarks struct {
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0: no end
}

// Notify is a message for whoever listens to the session's events.
type Notify struct {
	Message string `json:"message"`
	From    string `json:"from"`
}

// MethodLog streams the log of the session by sequence number.
const MethodLog = "log"

// Log asks for the events of the log with a number above After.
type Log struct {
	After uint64 `json:"after,omitempty"`
	// Follow goes on with the events that come, until the session is over.
	Follow bool `json:"follow,omitempty"`
	// Head begins with the head of the segment that holds the first event
	// wanted, and with the segment's earlier events: what a screen is rebuilt
	// from.
	Head bool `json:"head,omitempty"`
}

// LogPart is a part of the log. What it has of the following comes in this
// order.
type LogPart struct {
	Gap     *LogGap     `json:"gap,omitempty"`     // in place of events that are not in the log
	Damage  string      `json:"damage,omitempty"`  // in place of events that cannot be read
	Segment *LogSegment `json:"segment,omitempty"` // begins here
	Events  []LogEvent  `json:"events,omitempty"`

	// Ended and Upgrade are on the last part alone: the session is over and
	// this was all of its log, or the host replaces its binary and is to be
	// asked again for what comes after the last event.
	Ended   bool `json:"ended,omitempty"`
	Upgrade bool `json:"upgrade,omitempty"`
}

// LogGap names events that are not in the log, both ends included.
type LogGap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// LogSegment is the head of a segment: its events need nothing from before it.
type LogSegment struct {
	Index  int    `json:"index"`
	Seq    uint64 `json:"seq"` // of the last event before it
	Cols   int    `json:"cols"`
	Rows   int    `json:"rows"`
	Header string `json:"header"` // its first line, as in the log
	// Repaint redraws the whole terminal in a fresh emulator of this size. Or
	// nil: the terminal is empty.
	Repaint *LogEvent `json:"repaint,omitempty"`
}

// LogEvent is one event of the log.
type LogEvent struct {
	Seq     uint64 `json:"seq"`
	Elapsed int64  `json:"elapsed_us"` // since the session's start
	Code    string `json:"code"`
	Text    string `json:"text,omitempty"`
	Bytes   []byte `json:"bytes,omitempty"` // instead of Text where that is not UTF-8
}
