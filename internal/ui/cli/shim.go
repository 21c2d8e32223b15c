package cli

import (
	"context"
	"fmt"
	"os"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/place/provider/subprocess/shim"
)

// shimMain runs the process behind an agent's session without a terminal. Only
// den starts it: NAME and ID are for people who list processes.
func (a *app) shimMain() int {
	err := shim.Main(context.Background(), build.Version, a.stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(a.stderr, "den shim:", err)
	}
	return fault.ExitCode(err)
}
