package cli

import (
	"errors"
	"fmt"

	"den/internal/base/fault"
)

// exitCodeFlag makes a verb exit with the status of the command that it ran.
const exitCodeFlag = "exit-code"

// ownError is the exit code of den's own errors under --exit-code, as that of
// 'docker run', 'env' and 'timeout': theirs would be taken for the command's
// otherwise. See docs/adr/0032.
const ownError = 125

// exitStatus is an error that makes den exit with the command's own status.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// asExitStatus finds a command's own status in an error.
func asExitStatus(err error) (int, bool) {
	var e exitStatus
	if errors.As(err, &e) {
		return int(e), true
	}
	return 0, false
}

// ownExit returns the exit code for an error of den's own. A command may exit
// with 125 too: a last line on stderr says whose it is.
func (a *app) ownExit(err error) int {
	if !a.exitCode {
		return fault.ExitCode(err)
	}
	if !a.json { // there the object has no exit_code, or is an error
		fmt.Fprintf(a.stderr, "den: exit status %d is den's own (%s)\n", ownError, fault.KindOf(err))
	}
	return ownError
}
