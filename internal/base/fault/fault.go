// Package fault gives errors a kind: one table to exit codes and JSON.
package fault

import (
	"context"
	"den/internal/base/plainjson"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// Kind classifies an error for machines. Kinds are sent over sockets and
// printed in JSON: add, never rename.
type Kind string

// The kinds, in the order of their exit codes.
const (
	Internal    Kind = "internal"
	Usage       Kind = "usage"
	NotFound    Kind = "not_found"
	NotRunning  Kind = "not_running"
	Busy        Kind = "busy"
	Unreachable Kind = "unreachable"
	Export      Kind = "export"
	Storage     Kind = "storage"
	Protocol    Kind = "protocol"
	Unsupported Kind = "unsupported"
	Timeout     Kind = "timeout"
	Denied      Kind = "denied"
	Waiting     Kind = "waiting"
	Unsure      Kind = "unsure"
)

// kinds has each kind at its exit code.
var kinds = [...]Kind{
	1:  Internal,
	2:  Usage,
	3:  NotFound,
	4:  NotRunning,
	5:  Busy,
	6:  Unreachable,
	7:  Export,
	8:  Storage,
	9:  Protocol,
	10: Unsupported,
	11: Timeout,
	12: Denied,
	13: Waiting,
	14: Unsure,
}

// An Error is an error with a kind and, where one helps, what to do next.
type Error struct {
	Kind Kind
	Hint string // or empty
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf with a kind attached.
func Errorf(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...)}
}

// Hintf returns err with what to do next attached. The kind is kept.
func Hintf(err error, format string, args ...any) error {
	return &Error{Kind: KindOf(err), Hint: fmt.Sprintf(format, args...), Err: err}
}

// KindOf returns the outermost kind in err's chain. Errors of the operating
// system that mean one thing whoever meets them are classified too.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		return Storage
	case errors.Is(err, fs.ErrPermission):
		return Denied
	}
	return Internal
}

// HintOf returns the outermost hint in err's chain, or "".
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// ExitCode is the only place where an error becomes a process status.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	return max(slices.Index(kinds[:], KindOf(err)), 1)
}

// Known reports whether k is a kind of this build. A peer may be newer.
func Known(k Kind) bool {
	return k != "" && slices.Contains(kinds[:], k)
}

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
