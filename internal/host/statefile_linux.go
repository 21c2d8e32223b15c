package host

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stateFile writes the state to an anonymous memory file: that works with a
// full disk, and the screen's content never reaches a file system.
func stateFile(s handover) (int, error) {
	fd, err := unix.MemfdCreate("den-state", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("hand over state: %w", err)
	}
	raw, err := json.Marshal(s)
	if err == nil {
		err = writeAll(fd, raw)
	}
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("hand over state: %w", err)
	}
	return fd, nil
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		p = p[n:]
	}
	return nil
}
