package procname

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Describe returns a process's command name and arguments: empty ones where it
// has just ended.
func Describe(pid int) (comm string, argv []string, err error) {
	dir := "/proc/" + strconv.Itoa(pid)
	rawComm, err := os.ReadFile(dir + "/comm")
	var rawArgv []byte
	if err == nil {
		rawArgv, err = os.ReadFile(dir + "/cmdline")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return "", nil, nil
	case err != nil:
		return "", nil, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return strings.TrimSuffix(string(rawComm), "\n"), strings.Split(strings.TrimRight(string(rawArgv), "\x00"), "\x00"), nil
}
