package ipc

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

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
