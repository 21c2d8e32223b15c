package fault_test

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"den/internal/base/fault"
)

func TestKindSurvivesWrapping(t *testing.T) {
	err := fmt.Errorf("attach: %w", fault.Hintf(fault.Errorf(fault.NotFound, "no session %q", "x"), "try %s", "den ls"))
	if got := fault.KindOf(err); got != fault.NotFound {
		t.Errorf("KindOf = %q, want not_found", got)
	}
	if got := fault.HintOf(err); got != "try den ls" {
		t.Errorf("HintOf = %q", got)
	}
	if got := err.Error(); got != `attach: no session "x"` {
		t.Errorf("Error = %q", got)
	}
	if got := fault.ExitCode(err); got != 3 {
		t.Errorf("ExitCode = %d, want 3", got)
	}
}

func TestHintBelowAnotherKind(t *testing.T) {
	inner := fault.Hintf(fault.Errorf(fault.Storage, "disk full"), "free some space")
	err := &fault.Error{Kind: fault.Export, Err: fmt.Errorf("write: %w", inner)}
	if got := fault.HintOf(err); got != "free some space" {
		t.Errorf("HintOf = %q", got)
	}
	if got := fault.KindOf(err); got != fault.Export {
		t.Errorf("KindOf = %q, want the outermost", got)
	}
}

func TestOperatingSystemErrors(t *testing.T) {
	for err, want := range map[error]fault.Kind{
		syscall.ENOSPC:                     fault.Storage,
		&fs.PathError{Err: syscall.EACCES}: fault.Denied,
		fmt.Errorf("other"):                fault.Internal,
		&fs.PathError{Err: syscall.EROFS}:  fault.Storage,
	} {
		if got := fault.KindOf(err); got != want {
			t.Errorf("KindOf(%v) = %q, want %q", err, got, want)
		}
	}
	if fault.ExitCode(nil) != 0 || fault.KindOf(nil) != "" || fault.HintOf(nil) != "" {
		t.Error("nil is not an error")
	}
}
