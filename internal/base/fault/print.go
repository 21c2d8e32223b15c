package fault

import (
	"fmt"
	"io"

	"den/internal/base/plainjson"
)

// Object is an error as --json shows it. Fields are added, never renamed.
type Object struct {
	Status string `json:"status"` // always "error"
	Kind   Kind   `json:"kind"`
	Output string `json:"output"`
	Hint   string `json:"hint,omitempty"`
}

// ObjectOf returns err as --json shows it.
func ObjectOf(err error) Object {
	return Object{"error", KindOf(err), err.Error(), HintOf(err)}
}

// Printer prints the error that ends a process, and returns its status.
type Printer struct {
	Program        string // begins the line for people
	JSON           bool   // an object on Stdout, instead of text on Stderr
	Stdout, Stderr io.Writer
}

// Print returns 0 and prints nothing for nil.
func (p Printer) Print(err error) int {
	switch {
	case err == nil:
		return 0
	case p.JSON:
		_ = plainjson.Encode(p.Stdout, ObjectOf(err), "") // Best effort: there is nobody else to tell.
	default:
		fmt.Fprintf(p.Stderr, "%s: %v\n", p.Program, err)
		if hint := HintOf(err); hint != "" {
			fmt.Fprintf(p.Stderr, "hint: %s\n", hint)
		}
	}
	return ExitCode(err)
}
