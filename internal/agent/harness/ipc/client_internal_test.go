package ipc

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
)

// Who cannot reach a harness is told what to do, in a sandbox too.
func TestDialError(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind fault.Kind
		hint string
	}{
		{fs.ErrNotExist, fault.NotRunning, "den up"},
		{syscall.ECONNREFUSED, fault.NotRunning, "den up"},
		{syscall.EPERM, fault.Denied, "outside of the sandbox"},
		{errors.New("something else"), fault.Unreachable, ""},
	} {
		err := dialError("/socket", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", c.err)})
		if fault.KindOf(err) != c.kind || !strings.Contains(fault.HintOf(err), c.hint) {
			t.Errorf("%v: %v (%s), hint %q", c.err, err, fault.KindOf(err), fault.HintOf(err))
		}
	}
}

// TestDialTooLate: a caller whose time is over is told so, and not that the
// harness cannot be reached.
func TestDialTooLate(t *testing.T) {
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := Dial(over, filepath.Join(t.TempDir(), "socket")); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v (%s)", err, fault.KindOf(err))
	}
}
