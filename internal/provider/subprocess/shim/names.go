package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"den/internal/fault"
)

// anyNamed reports whether one of the processes bears one of the names: as
// its command name, as the base of its first argument, or as the script that
// an interpreter runs.
func anyNamed(pids []int, names []string) (bool, error) {
	if runtime.GOOS != "linux" {
		return false, fault.Hintf(fault.Errorf(fault.Unsupported, "the names of processes are not known on %s", runtime.GOOS), "ask without names")
	}
	for _, pid := range pids {
		comm, argv, err := describe(pid)
		if err != nil {
			return false, err
		}
		if bears(comm, argv, names) {
			return true, nil
		}
	}
	return false, nil
}

// describe returns a process's command name and arguments, empty ones where it
// has just ended.
func describe(pid int) (comm string, argv []string, err error) {
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

// maxComm is how much of a program's name the kernel keeps.
const maxComm = 15

// bears reports whether one of the names is the process's.
func bears(comm string, argv, names []string) bool {
	also := argvNames(argv)
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" && (comm == name[:min(len(name), maxComm)] || slices.Contains(also, name))
	})
}

// argvNames are the names that a command line gives its process: the base of
// the first argument, and for an interpreter that of the script, with and
// without its suffix.
func argvNames(argv []string) []string {
	if len(argv) == 0 || argv[0] == "" {
		return nil
	}
	program := strings.TrimPrefix(filepath.Base(argv[0]), "-") // a login shell's
	script := scriptOf(program, argv[1:])
	if script == "" {
		return []string{program}
	}
	base := filepath.Base(script)
	return []string{program, base, strings.TrimSuffix(base, filepath.Ext(base))}
}

// interpreters run what people call the program. A version at the end of
// their name does not count.
var interpreters = []string{
	"sh", "bash", "dash", "ash", "zsh", "ksh", "fish",
	"python", "node", "nodejs", "bun", "deno", "npx", "tsx", "ruby", "perl", "lua", "php", "java",
}

// scriptOf is the file or module that an interpreter runs, or "": code that
// stands on the command line has no name.
func scriptOf(program string, args []string) string {
	if !slices.Contains(interpreters, strings.TrimRight(program, "0123456789.")) {
		return ""
	}
	for i, arg := range args {
		switch {
		case arg == "-c" || arg == "-e" || arg == "":
			return ""
		case arg == "-m" && i+1 < len(args):
			return args[i+1]
		case strings.HasPrefix(arg, "-") || arg == "run" || arg == "exec" || arg == "x":
			continue
		}
		return arg
	}
	return ""
}
