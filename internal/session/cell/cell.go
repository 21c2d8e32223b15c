// Package cell models code sent to a session's program: the rule that detects
// its end, the collection of its output, its record, and the start-up files
// that make shells mark their commands.
package cell

import (
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
)

// Status is where a cell is in its life.
type Status string

// Statuses. They are stored in files and sent as JSON: add, never rename.
const (
	Fired    Status = "fired"
	Running  Status = "running"
	Done     Status = "done"
	TimedOut Status = "timeout" // for its caller: the cell runs on
	Failed   Status = "error"
	// Unsure is the status of a cell that is over as far as anybody can tell:
	// the program has been silent, and nothing says that it waits for code.
	Unsure Status = "unsure"
)

// Final reports whether a cell with this status is over.
func (s Status) Final() bool { return s == Done || s == Failed || s == Unsure }

// Asking is the status of the event that is logged for every question of a
// cell. The cell itself is Running.
const Asking = "asking"

// By names what decided that a cell was done.
type By string

// The ways to know, the surest first.
const (
	ByHook    By = "hook"
	ByPrompt  By = "prompt"
	ByShell   By = "shell"
	ByReady   By = "ready"
	ByLearned By = "prompt-learned"
	ByQuiet   By = "quiet"
	ByExit    By = "exit"      // the program ended
	ByInt     By = "interrupt" // somebody pressed Ctrl-C for it
	ByRefusal By = "refused"   // its code was not sent
	ByRelease By = "released"  // somebody gave the session back; its program may run on
)

// How sure the end of a cell is.
const (
	Exact  = "exact"  // the shell, the kernel, a hook or the given prompt says so, or the program ended
	Likely = "likely" // the prompt from before is back, and the kernel cannot tell
	Guess  = "guess"  // there was silence
)

// Of a cell that asks the same words say how sure it is that the program waits:
// the kernel says so; the line ends as a question, or a menu is shown; the
// program is silent behind an open line.

// Certainty returns how sure an end that was detected this way is, or "".
func (b By) Certainty() string {
	switch b {
	case ByHook, ByPrompt, ByShell, ByReady, ByExit:
		return Exact
	case ByLearned:
		return Likely
	case ByQuiet:
		return Guess
	}
	return ""
}

// What a running cell may wait for.
const (
	ForInput        = "input"        // the program asks something
	ForContinuation = "continuation" // the code is not complete
	// ForProgram is told when time is up and the code was not sent: the program
	// does not take any yet.
	ForProgram = "program"
	// ForHost is never shown to a user: the host is being upgraded, and the
	// client asks the new one.
	ForHost = "host"
)

// Result is the state of a cell as seen by its callers.
type Result struct {
	CellID     string `json:"cell_id"`
	Status     Status `json:"status"`
	Output     string `json:"output"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	By         By     `json:"by,omitempty"`
	Certainty  string `json:"certainty,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	WaitingFor string `json:"waiting_for,omitempty"`
	// Question is the text left of the cursor while the program waits.
	Question   string `json:"question,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	OutputFile string `json:"output_file,omitempty"`
	// OutputBytes is the size of the whole output, with a line end behind each
	// line, where Output is not all of it. A file of that size has all.
	OutputBytes int64 `json:"output_bytes,omitempty"`
	// NotSaved says what of the cell could not be written to disk, and why: its
	// record, its output, or events of the log.
	NotSaved string `json:"not_saved,omitempty"`
}

// AddNotSaved adds something that could not be written.
func (r *Result) AddNotSaved(what string) {
	switch {
	case r.NotSaved == "":
		r.NotSaved = what
	case !strings.Contains(r.NotSaved, what):
		r.NotSaved += "; " + what
	}
}

// Record is a cell as stored on disk.
type Record struct {
	V int `json:"v"`
	Result
	Code     string    `json:"code"`
	Started  time.Time `json:"started"`
	StartSeq uint64    `json:"start_seq"`
	EndSeq   uint64    `json:"end_seq,omitempty"`
}

// Asks reports whether the cell waits for an answer of its caller.
func (r Result) Asks() bool { return r.WaitingFor == ForInput || r.WaitingFor == ForContinuation }

// Final reports whether the cell is over.
func (r Result) Final() bool { return r.Status.Final() }

// CheckID returns an error if id is not a valid cell id. Ids are file names.
func CheckID(id string) error {
	if !ident.IsID(id) {
		return fault.Errorf(fault.Usage, "'%s' is not a cell id", id)
	}
	return nil
}
