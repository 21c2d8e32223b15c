package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// describe returns a process's command name and arguments: empty ones where it
// has just ended.
func describe(pid int) (comm string, argv []string, err error) {
	dir := "/proc/" + strconv.Itoa(pid)
	rawComm, err := os.ReadFile(dir + "/comm")
	if err == nil {
		var rawArgv []byte
		rawArgv, err = os.ReadFile(dir + "/cmdline")
		argv = strings.Split(strings.TrimRight(string(rawArgv), "\x00"), "\x00")
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return strings.TrimSuffix(string(rawComm), "\n"), argv, nil
}
