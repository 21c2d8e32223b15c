package agent

import (
	"fmt"
	"strings"
	"time"

	"den/internal/agent/conversation/screen"
)

// Outcome is how a step of a start went.
type Outcome = screen.Outcome

// The outcomes. A start goes on after all but failed.
const (
	Done    = screen.Done
	Skipped = screen.Skipped
	Late    = screen.Late
	Blocked = screen.Blocked
	Failed  = screen.Failed

	Queued Outcome = "queued" // the nudge waits on disk
)

// A Step is one part of a start.
type Step struct {
	Name     string        `json:"name"`
	Outcome  Outcome       `json:"outcome"`
	Duration time.Duration `json:"duration_ns"`
	Output   string        `json:"output,omitempty"` // of a command, or what there is to say
}

// The steps, in their order.
const (
	StepWorktree  = "worktree"
	StepSandbox   = "sandbox"
	StepPreStart  = "pre_start"
	StepOverlay   = "overlay"
	StepCopyFiles = "copy_files"
	StepPrepare   = "prepare"
	StepCreate    = "create"
	StepEnter     = "enter" // its sandbox
	StepDialogs   = "dialogs"
	StepReady     = "ready"
	StepDialogs2  = "dialogs_again"
	StepAlive     = "alive"
	StepSetup     = "session_setup"
	StepScript    = "session_setup_script"
	StepNudge     = "nudge"
)

// A StartError is a start that failed, with all that helps to see why.
type StartError struct {
	Agent  string
	Steps  []Step // up to the one that failed
	Screen string // what the session showed last, or ""
	Err    error

	exit *int // the command's status, where it ended during the start
}

// ExitCode is the status with which the agent's command ended during the
// start, nil where it did not end or that is not known.
func (e *StartError) ExitCode() *int { return e.exit }

// LastText is what the agent showed last, or what the step that failed said.
func (e *StartError) LastText() string {
	if e.Screen != "" {
		return e.Screen
	}
	return e.Step().Output
}

// Cause is the step and its error, for those who name the agent themselves.
func (e *StartError) Cause() string { return fmt.Sprintf("step %s: %v", e.Step().Name, e.Err) }

// Step is the one that failed.
func (e *StartError) Step() Step { return e.Steps[len(e.Steps)-1] }

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "start agent '%s': %s", e.Agent, e.Cause())
	if out := e.Step().Output; out != "" {
		fmt.Fprintf(&b, "\nits output:\n%s", indented(out))
	}
	if e.Screen != "" {
		fmt.Fprintf(&b, "\nthe screen:\n%s", indented(e.Screen))
	}
	return b.String()
}

func (e *StartError) Unwrap() error { return e.Err }

func indented(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
}
