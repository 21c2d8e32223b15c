//go:build !linux

package shim

import (
	"os"

	"den/internal/base/fault"
)

func pipeQueued(*os.File) (int, error) {
	return 0, fault.Errorf(fault.Unsupported, "this system does not tell what waits in a pipe")
}
